//! Every view of a gateway in which much is going on, at the width of a telephone, of a
//! laptop and of a large screen: nothing sticks out. The pages' pictures are made here.
//!
//! `SWITCHBOARD_WRITE_DOCS` writes those that the guide shows; `SWITCHBOARD_PICTURES=FOLDER`
//! writes each view in each width and theme, to be looked at.

use crate::{Desk, apps::SPEAKS};
use serde_json::{Value, json};
use std::path::Path;
use switchboard_testkit::{
    oauth::Site,
    world::{World, echo, protected},
};

/// A server for tickets: one that finds some, one that refuses, one that is asked about.
const TICKETS: &str = r#"#!/bin/sh
echo "tickets 3.2.0 ready, 3 projects" >&2
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) answer='{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"tickets","version":"3.2.0"},"instructions":"Search before you create."}' ;;
    *'"tools/list"'*) answer=$(cat ROOT/home/tools) ;;
    *'"tools/call"'*create_ticket*) answer='{"isError":true,"content":[{"type":"text","text":"project SHOP is archived"}]}' ;;
    *'"tools/call"'*) answer='{"content":[{"type":"text","text":"2 tickets"}],"structuredContent":{"total":2,"tickets":[{"number":17,"title":"Basket loses items","open":true},{"number":23,"title":"Slow search","open":true}]}}' ;;
    *'"resources/read"'*) answer=$(cat ROOT/home/page) ;;
    *'"resources/list"'*) answer='{"resources":[{"uri":"tickets://17","name":"Basket loses items","mimeType":"text/markdown"}]}' ;;
    *'"resources/templates/list"'*) answer='{"resourceTemplates":[{"uriTemplate":"tickets://{number}","name":"a ticket"}]}' ;;
    *'"prompts/list"'*) answer='{"prompts":[{"name":"triage","description":"Sorts new tickets","arguments":[{"name":"project","required":true}]}]}' ;;
    *) answer='{}' ;;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$answer"
done
"#;

/// Its page: a list of what was found.
const BOARD: &str = "
function main() {
  for (const ticket of result.structuredContent?.tickets ?? []) {
    const row = document.createElement('p');
    row.textContent = `${ticket.number}  ${ticket.title}`;
    document.body.append(row);
  }
}";

fn tools() -> Value {
    json!({"tools": [
        {
            "name": "search_tickets",
            "title": "Search tickets",
            "description": "Finds tickets by words, project and state. Returns at most 50, newest first.",
            "annotations": {"readOnlyHint": true},
            "_meta": {"ui": {"resourceUri": "ui://tickets/board"}},
            "inputSchema": {"type": "object", "required": ["query"], "properties": {
                "query": {"type": "string", "description": "Words to look for"},
                "project": {"enum": ["SHOP", "OPS", "WEB"], "description": "Only this project"},
                "open": {"type": "boolean", "default": true, "description": "Only open ones"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 20},
                "labels": {"type": "array", "items": {"type": "string"}},
                "assignee": {"anyOf": [
                    {"type": "string", "format": "email", "title": "by address"},
                    {"type": "integer", "title": "by number"},
                ]},
            }},
        },
        {
            "name": "create_ticket",
            "description": "Creates a ticket in a project.",
            "inputSchema": {"type": "object", "required": ["project", "title"], "properties": {
                "project": {"type": "string"}, "title": {"type": "string", "maxLength": 120},
            }},
        },
        {
            "name": "close_ticket",
            "description": "Closes a ticket. This cannot be undone.",
            "annotations": {"destructiveHint": true},
            "inputSchema": {"type": "object", "required": ["number"], "properties": {
                "number": {"type": "integer"}, "reason": {"type": "string"},
            }},
        },
    ]})
}

/// A shop's gateway: servers in every state, calls that went well and did not, and four
/// things that wait for somebody.
async fn shop(site: &Site) -> Desk {
    let world = World::repository();
    world.program("tickets-mcp", TICKETS);
    world.program(
        "warehouse-mcp",
        "#!/bin/sh\necho 'error: cannot open warehouse.db: no such file' >&2\nexit 1\n",
    );
    world.write("home/tools", tools().to_string());
    let looks = "body { font: 14px system-ui, sans-serif; margin: 8px 12px }";
    let page = format!("<!doctype html><style>{looks}</style><script>{SPEAKS}{BOARD}</script>");
    let page = json!({"contents": [{"uri": "ui://tickets/board", "mimeType": "text/html;profile=mcp-app", "text": page}]});
    world.write("home/page", page.to_string());
    let deploy = json!({"command": "npx", "args": ["-y", "@shop/deploy-mcp", "--region", "eu"]});
    let project = json!({"mcpServers": {"deploy": deploy}});
    world.write("home/repo/.mcp.json", project.to_string());
    world.write_settings(&json!({
        "mcpServers": {
            "tickets": {"command": "tickets-mcp", "args": ["--project", "SHOP"]},
            "notes": echo(&[]),
            "billing": protected(site, "/mcp"),
            "warehouse": {"command": "warehouse-mcp"},
            "files": {"type": "builtin", "builtin": "files", "roots": [world.path("home/repo")]},
        },
        "permissions": {"ask": ["mcp__tickets__close_ticket"], "deny": ["mcp__notes__pid"]},
    }));
    let desk = Desk::served_with(world, &["--ask-at", "inbox", "--audit"]).await;
    // Messages are kept from the moment on that somebody looks.
    desk.go("#/traffic").await;
    desk.browser.says("main", "No calls yet").await;
    let mut client = desk.world.attached(&[]).await;
    for turn in 0..6 {
        let nonce = format!("note {turn}: buy milk");
        client.call("notes__echo", json!({ "nonce": nonce })).await;
    }
    let query = json!({"query": "basket", "project": "SHOP", "limit": 5});
    client.call("tickets__search_tickets", query).await;
    let ticket = json!({"project": "SHOP", "title": "Basket loses items"});
    client.call("tickets__create_ticket", ticket).await;
    for (tool, arguments) in [
        (
            "tickets__close_ticket",
            json!({"number": 23, "reason": "done in 4.1"}),
        ),
        (
            "notes__elicit",
            json!({"message": "Which shelf shall I put it on?"}),
        ),
    ] {
        waits(&desk.world, tool, arguments);
    }
    for name in ["warehouse", "billing"] {
        desk.post(&format!("servers/{name}/reconnect"), json!({}))
            .await;
    }
    desk
}

/// An agent's call, which nobody answers as long as this test looks at it.
fn waits(world: &World, tool: &'static str, arguments: Value) {
    let world = world.clone();
    tokio::spawn(async move {
        let mut agent = world.attached(&[]).await;
        agent.call(tool, arguments).await
    });
}

impl Desk {
    /// Asks the API in the page's place.
    async fn post(&self, path: &str, body: Value) -> Value {
        let script = format!(
            "return await (await fetch('/api/v1/{path}', {{ method: 'POST', body: JSON.stringify({body}), headers: {{ 'content-type': 'application/json', authorization: `Bearer ${{sessionStorage.getItem('switchboard.token')}}` }} }})).json()"
        );
        self.browser.run(&script).await
    }
}

const SIZES: [(u32, u32); 3] = [(360, 800), (1280, 900), (2560, 1300)];

/// Looks at what is shown now, in every width, and in both themes where it is written.
async fn look(desk: &Desk, name: &str, docs: Option<&str>) {
    let page = &desk.browser;
    page.until("return !document.querySelector('.skeleton')")
        .await;
    let folder = std::env::var_os("SWITCHBOARD_PICTURES");
    for (width, height) in SIZES {
        page.view(width, height).await;
        let themes: &[&str] = match &folder {
            Some(_) => &["light", "dark"],
            None => &["light"],
        };
        for theme in themes {
            page.run(&format!("document.documentElement.dataset.theme = {theme:?}; await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")).await;
            if let Some(folder) = &folder {
                let file = format!("{name}-{width}-{theme}.png");
                page.picture(&Path::new(folder).join(file)).await;
            }
        }
        let wide = page
            .run("const main = document.querySelector('main'); return Math.max(main.scrollWidth - main.clientWidth, document.documentElement.scrollWidth - innerWidth)")
            .await;
        let wide = wide.as_i64().unwrap_or(i64::MAX);
        assert!(wide <= 1, "{name} at {width}: {wide} pixels stick out");
    }
    page.run("document.documentElement.dataset.theme = 'light'")
        .await;
    page.view(1280, 800).await;
    if let Some(file) = docs {
        // Where a test has its home is nobody's business.
        let home = desk.world.home();
        page.run(&format!("document.querySelector('main').scrollTop = 0;
            const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            for (let text = texts.nextNode(); text; text = texts.nextNode())
              text.data = text.data.replaceAll({home:?}, '/home/ada').replaceAll(/\\S*\\/target\\/\\w+\\//g, '');"))
            .await;
        desk.picture(file).await;
    }
}

#[tokio::test]
async fn nothing_sticks_out_in_any_view_at_any_width() {
    let site = Site::start().await;
    let desk = shop(&site).await;
    let page = &desk.browser;
    page.says("[data-testid=waiting]", "4").await;
    desk.go("#/servers").await;
    page.says("[data-server=warehouse]", "failed").await;
    page.says("[data-server=billing]", "needs auth").await;
    page.says("[data-server=deploy]", "pending").await;
    look(&desk, "servers", Some("console-servers.png")).await;
    for (name, view, words) in [
        ("server", "#/servers/tickets", "Search before you create"),
        ("server-sign-in", "#/servers/billing", "wanted"),
        ("server-log", "#/servers/warehouse/stderr", "no such file"),
        (
            "server-to-approve",
            "#/servers/deploy",
            "What would be approved",
        ),
        ("server-tools", "#/servers/tickets/tools", "search_tickets"),
        ("server-resources", "#/servers/tickets/resources", "Basket"),
        (
            "server-prompt",
            "#/servers/tickets/prompts/triage",
            "project",
        ),
        (
            "server-handshake",
            "#/servers/tickets/handshake",
            "serverInfo",
        ),
        ("server-explained", "#/servers/tickets/explain", "tickets"),
        ("tools", "#/tools", "close_ticket"),
        ("insight", "#/insight", "search_tickets"),
        ("bill", "#/insight/bill", "tokens"),
        ("files", "#/setup/files", "settings.json"),
        ("clients", "#/setup/clients", "cursor"),
        ("tokens", "#/setup/tokens", "default"),
        ("import", "#/setup/import", "Set-up"),
        ("audit", "#/audit", "echo"),
    ] {
        desk.go(view).await;
        page.says("main", words).await;
        look(&desk, name, None).await;
    }
    // A tool by its form, and the page that shows what it found.
    let given = "%7B%22query%22%3A%22basket%22%2C%22labels%22%3A%5B%22urgent%22%5D%7D";
    desk.go(&format!(
        "#/servers/tickets/tools/search_tickets?arguments={given}"
    ))
    .await;
    page.click("[data-testid=run]").await;
    page.says("[data-testid=result]", "2 tickets").await;
    page.click("[data-testid=app-open]").await;
    page.wait("[data-testid=app]").await;
    look(&desk, "tool", Some("console-tool.png")).await;
    // Calls, one of them with both its sides, and made again.
    desk.go("#/traffic").await;
    page.says("[data-testid=call]", "echo").await;
    look(&desk, "traffic", Some("console-traffic.png")).await;
    let found = "const rows = [...document.querySelectorAll('[data-testid=call]')]; return rows.find((row) => row.innerText.includes('search_tickets') && !row.innerText.includes('console'))?.getAttribute('href')";
    let call = page.until(found).await;
    let call = call.as_str().expect("an address");
    desk.go(call).await;
    page.wait("[data-edge=to-client]").await;
    look(&desk, "call", Some("console.png")).await;
    desk.go(&format!("{call}?replay=1")).await;
    page.click("[data-testid=replay-run]").await;
    page.wait("[data-testid=same], [data-testid=differences]")
        .await;
    look(&desk, "replay", None).await;
    // A breakpoint, and what it holds.
    let held = json!({"filter": "tool:echo", "at": "call"});
    desk.post("breakpoints", held).await;
    waits(
        &desk.world,
        "notes__echo",
        json!({"nonce": "held for a person"}),
    );
    page.says("[data-testid=waiting]", "5").await;
    desk.go("#/traffic").await;
    page.click("[data-testid=break]").await;
    page.wait("[data-testid=break-set]").await;
    look(&desk, "hold", None).await;
    page.click("dialog [aria-label=Close]").await;
    desk.go("#/inbox").await;
    page.wait("[data-testid=question]").await;
    look(&desk, "inbox", None).await;
    for (kind, docs) in [
        ("approval", None),
        ("sign-in", None),
        ("permission", Some("console-inbox.png")),
        ("form", None),
        ("held", None),
    ] {
        let found = format!(
            "const said = await (await fetch('/api/v1/questions', {{ headers: {{ authorization: `Bearer ${{sessionStorage.getItem('switchboard.token')}}` }} }})).json(); return said.questions.find((one) => one.kind === {kind:?})?.id"
        );
        let id = page.until(&found).await;
        desk.go(&format!("#/inbox/{}", id.as_str().expect("an id")))
            .await;
        page.wait(&format!("[data-testid=question-page][data-kind={kind}]"))
            .await;
        look(&desk, &format!("inbox-{kind}"), docs).await;
    }
    desk.go("#/setup/add").await;
    page.type_into(
        "[data-testid=snippet]",
        "npx -y @modelcontextprotocol/server-everything",
    )
    .await;
    page.click("[data-testid=show-difference]").await;
    page.wait("[data-testid=patch]").await;
    look(&desk, "add", None).await;
    desk.is_quiet().await;
    page.click("[data-testid=sign-out]").await;
    page.says("main", "You have signed out").await;
    look(&desk, "signed-out", None).await;
}
