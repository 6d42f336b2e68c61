//! `tools/list`, by mode.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::server::{Request, Server};
use crate::strikes;

/// The tools of a well-behaved list.
const TOOLS: &str = r#"{"name":"ok","description":"Works.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"strike","description":"Misbehaves.","inputSchema":{"type":"object"}},{"name":"stats","description":"Tells what the server saw.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

/// Kinds of bad tools; the list shows another one each time.
const BAD: [&str; 8] = [
    r#"{"name":"bad","inputSchema":"no schema"}"#,
    r#"{"inputSchema":{"type":"object"}}"#,
    r#"{"name":7,"inputSchema":{"type":"object"}}"#,
    "null",
    r#"{"name":"","inputSchema":{"type":"object"}}"#,
    r#"{"name":"bad","name":"worse","inputSchema":{"type":"object"}}"#,
    r#"{"name":"bad"}"#,
    r#"{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x"},"b":{"pattern":"(a+)+$"}}},"description":{"not":"text"}}"#,
];

/// Answers `tools/list`.
pub fn answer(server: &Server, request: &Request) {
    let page = server.lists.load(Ordering::SeqCst);
    match server.args.mode.as_str() {
        "pages-same" => paged(server, request, page, "same"),
        "pages-fresh" => paged(server, request, page, &format!("c{page}")),
        "pages-empty" => paged(server, request, page, ""),
        "pages-huge" => paged(
            server,
            request,
            page,
            &format!("c{page}-{}", "x".repeat(1 << 20)),
        ),
        "pages-slow" => {
            std::thread::sleep(Duration::from_millis(server.args.delay));
            paged(server, request, page, &format!("c{page}"));
        }
        "tools-many" => {
            let tools = (0..server.limit(50_000)).map(|n| {
                format!(r#",{{"name":"tool_{n}","description":"Number {n}.","inputSchema":{{"type":"object"}}}}"#)
            });
            let tools: String = tools.collect();
            server.result(request, &format!(r#"{{"tools":[{TOOLS}{tools}]}}"#));
        }
        "description-huge" => {
            let text = "d".repeat(server.limit(50 << 20) as usize);
            server.result(
                request,
                &format!(r#"{{"tools":[{TOOLS},{{"name":"huge","description":"{text}","inputSchema":{{"type":"object"}}}}]}}"#),
            );
        }
        "bad-tool" => {
            let bad = BAD[(page as usize - 1) % BAD.len()];
            let good: String = (0..96)
                .map(|n| format!(r#",{{"name":"tool_{n}","inputSchema":{{"type":"object"}}}}"#))
                .collect();
            server.result(request, &format!(r#"{{"tools":[{TOOLS},{bad}{good}]}}"#));
        }
        "bad-header" => server.result(request, &format!(r#"{{"tools":[{TOOLS},{}]}}"#, headers())),
        "control-text" => {
            let tool = strikes::control_tool();
            server.result(request, &format!(r#"{{"tools":[{TOOLS},{tool}]}}"#));
        }
        _ => server.result(request, &format!(r#"{{"tools":[{TOOLS}]}}"#)),
    }
}

fn paged(server: &Server, request: &Request, page: u64, cursor: &str) {
    let tools = if page == 1 {
        TOOLS.to_owned()
    } else {
        format!(r#"{{"name":"page_{page}","inputSchema":{{"type":"object"}}}}"#)
    };
    server.result(
        request,
        &format!(r#"{{"tools":[{tools}],"nextCursor":"{cursor}"}}"#),
    );
}

/// Tools whose headers must never reach the wire.
fn headers() -> String {
    let bad = [
        r#""a":{"type":"string","x-mcp-header":"X\r\nInjected: yes"}"#,
        r#""a":{"type":"string","x-mcp-header":""}"#,
        r#""a":{"type":"string","x-mcp-header":"Same"},"b":{"type":"string","x-mcp-header":"sAME"}"#,
        r#""a":{"type":"object","x-mcp-header":"Object"}"#,
        r#""a":{"type":"string","x-mcp-header":"has space"}"#,
        r#""a":{"type":"string","x-mcp-header":7}"#,
    ];
    let tool = |(n, properties): (usize, &&str)| {
        format!(
            r#"{{"name":"header_{n}","inputSchema":{{"type":"object","properties":{{{properties}}}}}}}"#
        )
    };
    bad.iter()
        .enumerate()
        .map(tool)
        .collect::<Vec<_>>()
        .join(",")
}
