//! The protected MCP endpoints. They know just enough of MCP to be asked.

use crate::{
    Call, proof,
    reply::{Body, json_reply, text, with_header},
    state::{World, now_ms},
};
use aws_lc_rs::digest;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{Method, Response};
use serde_json::{Value, json};
use switchboard_testkit::serve::{self, ReplyBody};

pub fn endpoint(world: &World, call: &Call) -> Response<Body> {
    if call.method == Method::GET {
        world.count("mcp.get");
        if world.says("mcp_get", "stream") {
            let (keep, events) = tokio::sync::mpsc::unbounded_channel();
            #[expect(clippy::mem_forget, reason = "a sender that is there: no end")]
            std::mem::forget(keep);
            return serve::events(ReplyBody::Events(events, None));
        }
        return text(405, "text/plain", "POST");
    }
    match admitted(world, call) {
        Ok(()) => {
            world.count("mcp.200");
            world.count(&format!("200 {}", call.path));
            reply(call, world.is("modern"))
        }
        Err(refusal) => *refusal,
    }
}

fn reply(call: &Call, modern: bool) -> Response<Body> {
    let asked: Value = serde_json::from_slice(&call.body).unwrap_or_default();
    if asked.get("id").is_none() {
        return text(202, "application/json", "");
    }
    let known = match asked["method"].as_str() {
        Some("server/discover") => modern,
        Some("initialize") => !modern,
        _ => true,
    };
    if !known {
        let error = json!({"code": -32601, "message": "Method not found"});
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "error": error});
        return json_reply(if modern { 404 } else { 200 }, &answer);
    }
    let mut result = match asked["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "protected", "version": "1"},
        }),
        Some("tools/list") => json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}),
        Some("tools/call") => json!({"content": [{"type": "text", "text": "let in"}]}),
        Some("server/discover") => json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
        }),
        _ => json!({}),
    };
    if modern {
        result["resultType"] = "complete".into();
        result["ttlMs"] = 0.into();
        result["cacheScope"] = "private".into();
    }
    json_reply(
        200,
        &json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}),
    )
}

fn admitted(world: &World, call: &Call) -> Result<(), Box<Response<Body>>> {
    let sent = call
        .header("authorization")
        .and_then(|value| value.split_once(' '));
    let Some((scheme, token)) = sent else {
        return Err(refused(world, call, 401, ""));
    };
    let known = world.state().access.get(token).cloned();
    let own = format!("{}{}", call.base, call.path);
    let good = known.filter(|known| {
        known.expires_ms > now_ms()
            && known.resource.as_deref() == Some(own.as_str())
            && world
                .knob("as")
                .as_array()
                .is_some_and(|named| named.iter().any(|tenant| tenant == known.tenant.as_str()))
    });
    let Some(known) = good else {
        return Err(refused(world, call, 401, "error=\"invalid_token\""));
    };
    if let Some(jkt) = &known.jkt {
        if !scheme.eq_ignore_ascii_case("dpop") {
            return Err(refused(world, call, 401, "error=\"invalid_token\""));
        }
        let (claims, proved) = proof::proof(world, call).map_err(|why| {
            world.count("bad_proof");
            refused(
                world,
                call,
                401,
                &format!("error=\"invalid_dpop_proof\", error_description=\"{why}\""),
            )
        })?;
        let hash = digest::digest(&digest::SHA256, token.as_bytes());
        if proved != *jkt || claims["ath"] != URL_SAFE_NO_PAD.encode(hash).as_str() {
            return Err(refused(world, call, 401, "error=\"invalid_dpop_proof\""));
        }
        if let Err(nonce) = proof::nonce(world, &claims) {
            world.count("nonce.mcp");
            let refusal = refused(world, call, 401, "error=\"use_dpop_nonce\"");
            return Err(Box::new(with_header(*refusal, "dpop-nonce", &nonce)));
        }
    }
    let mut wanted = world.knob("scope").as_str().unwrap_or_default().to_owned();
    let has = |scope: &str| known.scope.split(' ').any(|granted| granted == scope);
    let fresh = world.says("always_403", "fresh");
    if fresh {
        wanted = crate::state::random("more");
    }
    if fresh || world.is("always_403") || !wanted.split_whitespace().all(has) {
        let why = format!("error=\"insufficient_scope\", scope=\"{wanted}\"");
        return Err(refused(world, call, 403, &why));
    }
    Ok(())
}

fn refused(world: &World, call: &Call, status: u16, why: &str) -> Box<Response<Body>> {
    world.count(&format!("mcp.{status}"));
    let scheme = if world.says("dpop", "off") {
        "Bearer"
    } else {
        "DPoP"
    };
    let mut parts: Vec<String> = Vec::new();
    if !why.is_empty() {
        parts.push(why.to_owned());
    }
    if let Some(more) = world.knob("challenge").as_str() {
        parts.push(more.to_owned());
    }
    if world.is("pointer") {
        let at = format!(
            "{}/.well-known/oauth-protected-resource{}",
            call.base, call.path
        );
        parts.push(format!("resource_metadata=\"{at}\""));
    }
    let challenge = format!("{scheme} {}", parts.join(", "));
    Box::new(with_header(
        text(status, "text/plain", "not let in"),
        "www-authenticate",
        challenge.trim(),
    ))
}
