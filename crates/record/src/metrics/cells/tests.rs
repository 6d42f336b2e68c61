use super::*;

fn ended(outcome: Outcome) -> Ended {
    Ended {
        outcome,
        number: 1,
        trace: None,
        took: Duration::from_millis(3),
        at_server: Some(Duration::from_millis(2)),
        waited: Duration::ZERO,
        bytes_in: 10,
        bytes_out: 20,
    }
}

#[test]
fn tools_beyond_the_cap_are_counted_together() {
    let cells = Cells::default();
    let server: Arc<str> = "one".into();
    for n in 0..100_000 {
        let cell = cells.get(&server, Method::ToolsCall, &format!("tool{n}"));
        cells.count(cell, &ended(Outcome::FINE));
    }
    let all = cells.all();
    assert_eq!(all.len(), limits::METRIC_TOOLS + 1);
    let other = cells.find("one", Method::ToolsCall, OTHER).unwrap();
    let (errors, whole, _) = other.sum();
    assert_eq!(errors, 0);
    assert_eq!(whole.count(), 100_000 - limits::METRIC_TOOLS as u64);
    // What is known stays known, and another server has its own.
    assert_eq!(
        &*cells.get(&server, Method::ToolsCall, "tool7").tool,
        "tool7"
    );
    let second: Arc<str> = "two".into();
    assert_eq!(
        &*cells.get(&second, Method::ToolsCall, "tool999").tool,
        "tool999"
    );
}

#[test]
fn servers_beyond_the_cap_are_counted_together() {
    let cells = Cells::default();
    for n in 0..limits::METRIC_SERVERS + 50 {
        let server: Arc<str> = format!("server{n}").into();
        for method in [Method::ToolsCall, Method::ResourcesRead] {
            let cell = cells.get(&server, method, "");
            cells.count(cell, &ended(Outcome::FINE));
        }
    }
    let servers: std::collections::HashSet<Arc<str>> =
        cells.all().iter().map(|cell| cell.server.clone()).collect();
    assert_eq!(servers.len(), limits::METRIC_SERVERS + 1);
    let other = cells.find(OTHER, Method::ResourcesRead, "").unwrap();
    assert_eq!(other.sum().1.count(), 50);
    assert!(cells.all().len() <= limits::METRIC_CELLS + 2 * Method::ALL.len());
}

#[test]
fn whatever_comes_there_is_an_end_to_it() {
    let cells = Cells::default();
    for server in 0..limits::METRIC_SERVERS {
        let server: Arc<str> = format!("server{server}").into();
        for tool in 0..limits::METRIC_TOOLS {
            let cell = cells.get(&server, Method::ToolsCall, &tool.to_string());
            for outcome in Outcome::all() {
                cells.count(cell, &ended(outcome));
            }
        }
    }
    let all = cells.all();
    assert!(all.len() <= limits::METRIC_CELLS + 4, "{}", all.len());
    let outcomes: usize = all.iter().map(|cell| cell.series().count()).sum();
    assert!(
        outcomes <= limits::METRIC_OUTCOMES + 2 * OUTCOMES,
        "{outcomes}"
    );
    let counted: u64 = all.iter().map(|cell| cell.sum().1.count()).sum();
    let calls = limits::METRIC_SERVERS * limits::METRIC_TOOLS * OUTCOMES;
    assert_eq!(counted, calls as u64, "none is lost");
}

#[test]
fn many_threads_find_the_same_cell() {
    let cells = Cells::default();
    let server: Arc<str> = "one".into();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for n in 0..1000 {
                    let tool = format!("tool{}", n % 10);
                    let cell = cells.get(&server, Method::ToolsCall, &tool);
                    cells.count(cell, &ended(Outcome::FINE));
                }
            });
        }
    });
    let all = cells.all();
    assert_eq!(all.len(), 10);
    assert!(all.iter().all(|cell| cell.sum().1.count() == 800));
}
