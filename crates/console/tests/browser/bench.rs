//! What the page costs its reader. Times say nothing on a machine that does something else,
//! so that `cargo xtask bench console` runs this, and no run of all tests.

use crate::{State, World, data, full};
use serde_json::Value;
use switchboard_api::events::Event;

/// How often what is loaded is measured.
const LOADS: usize = 7;

/// One figure, as `cargo xtask bench console` reads it.
#[expect(clippy::print_stdout, reason = "what is measured is read from there")]
fn figure(name: &str, value: f64, unit: &str, goal: &str) {
    println!("figure|{name}|{value:.1} {unit}|{goal}");
}

fn many() -> State {
    let mut state = full();
    state.calls = (1..=10_000)
        .rev()
        .map(|id| data::call(id, if id % 2 == 0 { "one" } else { "two" }, "echo"))
        .collect();
    state
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Counts frames and tasks that are too long while `work` runs once in each frame.
fn watched(frames: usize, work: &str) -> String {
    format!(
        "let long = 0;
        const watch = new PerformanceObserver((list) => {{ long += list.getEntries().length; }});
        watch.observe({{ entryTypes: ['longtask'] }});
        const list = document.querySelector('.scroll');
        const gaps = []; let last = null; let at = 0;
        await new Promise((done) => requestAnimationFrame(function next(now) {{
          if (last !== null) gaps.push(now - last);
          last = now;
          {work}
          if (++at < {frames}) requestAnimationFrame(next); else done();
        }}));
        await new Promise((done) => setTimeout(done, 100));
        watch.disconnect();
        const all = gaps.reduce((sum, gap) => sum + gap, 0);
        return {{ rate: gaps.length / all * 1000, worst: Math.max(...gaps), long }};"
    )
}

/// What is scrolled, once in each frame: another 50 rows.
const SCROLLING: &str = "list.scrollTop = (at * 1700) % 330000;";

/// A page without anything of ours: 10,000 rows of the same texts that stay as they are.
const PLAIN: &str = "
    document.body.style.cssText = 'margin:0;font:14px system-ui,sans-serif';
    const list = document.createElement('div');
    list.className = 'scroll';
    list.style.cssText = 'height:740px;width:1020px;overflow:auto';
    const room = document.createElement('div');
    for (let at = 0; at < 10000; at += 1) {
      const row = document.createElement('div');
      row.style.cssText = 'display:grid;grid-template-columns:78px 1fr 1fr 2fr 104px 74px 74px 74px 64px;gap:10px;align-items:center;height:34px;padding:0 14px;border-bottom:1px solid #ddd;box-sizing:border-box;contain:strict';
      for (const text of ['12:34:56', 'a client', 'one', `echo ${at}`, 'ok', '1.2 ms', '3.4 ms', '120 B', 'L→L']) {
        const cell = document.createElement('span');
        cell.style.cssText = 'overflow:hidden;text-overflow:ellipsis;white-space:nowrap';
        cell.textContent = text;
        row.append(cell);
      }
      room.append(row);
    }
    list.append(room);
    document.body.append(list);";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

#[tokio::test]
#[ignore = "measures: `cargo xtask bench console` runs it"]
async fn what_the_page_costs() {
    let world = World::with(many()).await;
    let page = &world.browser;
    let (mut paints, mut lists) = (Vec::new(), Vec::new());
    for _ in 0..LOADS {
        world.go("#/traffic").await;
        page.run("location.reload()").await;
        page.wait("[data-testid=call]").await;
        let painted = page
            .until("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
            .await;
        paints.push(number(&painted));
        let loaded = page
            .run("return performance.getEntriesByType('resource').filter((one) => one.name.includes('/calls')).at(-1).responseEnd")
            .await;
        lists.push(number(&loaded));
    }
    figure("first paint", median(paints), "ms", "under 300 ms");
    figure("until calls have come", median(lists), "ms", "");
    // All 10,000 are there.
    page.until("const list = document.querySelector('.scroll'); list.scrollTop = list.scrollHeight; return list.scrollHeight > 330000")
        .await;
    let scrolled = page.run(&watched(180, SCROLLING)).await;
    figure(
        "scrolling through 10,000 calls",
        number(&scrolled["rate"]),
        "frames/s",
        "60 frames/s",
    );
    figure("its longest frame", number(&scrolled["worst"]), "ms", "");
    figure(
        "its tasks over 50 ms",
        number(&scrolled["long"]),
        "",
        "none",
    );
    figure(
        "rows in the page",
        page.count("[data-testid=call]").await as f64,
        "",
        "under 50",
    );
    let mut filters = Vec::new();
    for at in 0..LOADS {
        let server = if at % 2 == 0 { "one" } else { "two" };
        let other = if at % 2 == 0 { "two" } else { "one" };
        let script = format!(
            "const begun = performance.now(); location.hash = '#/traffic?filter=server%3A{server}';
            const done = () => {{ const rows = [...document.querySelectorAll('.c-server')].slice(1).map((one) => one.textContent); return rows.length > 5 && !rows.includes('{other}'); }};
            while (!done()) await new Promise((next) => requestAnimationFrame(next));
            return performance.now() - begun;"
        );
        filters.push(number(&page.run(&script).await));
    }
    figure(
        "a filter over 10,000 calls, with asking the gateway",
        median(filters),
        "ms",
        "under 50 ms",
    );
    world.go("#/traffic").await;
    page.until("const list = document.querySelector('.scroll'); list.scrollTop = 0; return list.scrollHeight > 10000")
        .await;
    let watching = watched(200, "");
    let feeding = async {
        for batch in 0..100_u64 {
            for one in 0..100 {
                let call = Box::new(data::call(10_001 + batch * 100 + one, "one", "echo"));
                world.gateway.tell(&Event::Call { call });
            }
            tokio::time::sleep(std::time::Duration::from_millis(16)).await;
        }
    };
    let (fed, ()) = tokio::join!(page.run(&watching), feeding);
    figure(
        "100 times 100 calls that arrive",
        number(&fed["rate"]),
        "frames/s",
        "60 frames/s",
    );
    figure("their tasks over 50 ms", number(&fed["long"]), "", "none");
    let heap = page.heap().await;
    // What this browser does on this machine where nothing is to be done but to draw.
    page.open("about:blank").await;
    page.run(PLAIN).await;
    let plain = page.run(&watched(180, SCROLLING)).await;
    figure(
        "the same scrolling of a plain page with 10,000 rows that stay as they are",
        number(&plain["rate"]),
        "frames/s",
        "the floor",
    );
    figure("its longest frame", number(&plain["worst"]), "ms", "");
    figure("its tasks over 50 ms", number(&plain["long"]), "", "");
    figure(
        "the page's memory with 10,000 calls",
        heap as f64 / 1e6,
        "MB",
        "",
    );
}
