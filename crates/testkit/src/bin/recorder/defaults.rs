//! Minimal answers where the script has none.

use switchboard_testkit::json::{self, Message};

use crate::Recorder;
use crate::script::Answer;

const INFO: &str = r#"{"name":"recorder","version":"1"}"#;
const CAPABILITIES: &str = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{}}"#;

/// Answers a request by itself.
pub fn answer(recorder: &Recorder, message: &Message<'_>) -> Answer {
    let params = message.params.unwrap_or(b"{}");
    let meta = json::path(
        params,
        &["_meta", "io.modelcontextprotocol/protocolVersion"],
    );
    let modern = meta.is_some() && recorder.modern;
    let method = message.method.as_deref().unwrap_or_default();
    let id = String::from_utf8_lossy(message.id.unwrap_or(b"null")).into_owned();
    if modern && method == "subscriptions/listen" {
        let filter = json::get(params, "notifications").unwrap_or(b"{}");
        let filter = String::from_utf8_lossy(filter);
        let acknowledged = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{filter}}}}}"#
        );
        return Answer {
            before: vec![acknowledged.into_bytes()],
            reply: Vec::new(),
            hold: true,
            status: 200,
        };
    }
    match result(recorder, method, params, modern) {
        Some(result) => Answer {
            before: Vec::new(),
            reply: format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes(),
            hold: false,
            status: 200,
        },
        None => Answer {
            before: Vec::new(),
            reply: format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#
            )
            .into_bytes(),
            hold: false,
            status: if modern { 404 } else { 200 },
        },
    }
}

fn result(recorder: &Recorder, method: &str, params: &[u8], modern: bool) -> Option<String> {
    let cached = if modern {
        r#","resultType":"complete","ttlMs":0,"cacheScope":"private""#
    } else {
        ""
    };
    Some(match method {
        "initialize" if recorder.legacy => {
            let asked = json::get(params, "protocolVersion").and_then(json::string);
            let version = asked
                .filter(|v| &**v < "2026")
                .unwrap_or("2025-11-25".into());
            format!(
                r#"{{"protocolVersion":"{version}","capabilities":{CAPABILITIES},"serverInfo":{INFO}}}"#
            )
        }
        "server/discover" if modern => {
            let versions = if recorder.legacy {
                r#"["2026-07-28","2025-11-25"]"#
            } else {
                r#"["2026-07-28"]"#
            };
            format!(
                r#"{{"supportedVersions":{versions},"capabilities":{CAPABILITIES},"_meta":{{"io.modelcontextprotocol/serverInfo":{INFO}}}{cached}}}"#
            )
        }
        "tools/list" => {
            format!(r#"{{"tools":[{{"name":"odd","inputSchema":{{"type":"object"}}}}]{cached}}}"#)
        }
        "resources/list" => format!(r#"{{"resources":[]{cached}}}"#),
        "resources/templates/list" => format!(r#"{{"resourceTemplates":[]{cached}}}"#),
        "prompts/list" => format!(r#"{{"prompts":[]{cached}}}"#),
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
            "{}".to_owned()
        }
        _ => return None,
    })
}
