//! A strict authorization server, an identity provider and the MCP servers they
//! protect, in one process on one port, for the tests of signing in.
//!
//! Issuers are paths: `/as/NAME` are authorization servers, `/idp` the identity
//! provider. `/mcp` and `/mcp/NAME` are protected MCP endpoints. Refresh tokens
//! rotate and using one twice ends the family; PKCE, `resource` and exact redirect
//! addresses are demanded. People consent at once: the authorization page
//! redirects back straight away.
//!
//! `POST /control` merges a JSON object into the knobs (see `knobs.rs`),
//! `GET /counters` says what happened how often, `GET /log` shows every request
//! with its form and credentials, `POST /mint` signs a token as asked.

#![allow(unreachable_pub, reason = "a program has no outside")]

mod authorize;
mod exchange;
mod grants;
mod idp;
mod jwt;
mod knobs;
mod mcp;
mod metadata;
mod proof;
mod reply;
mod state;
mod token;

use bytes::Bytes;
use clap::Parser;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use reply::{Body, json_reply, not_found};
use serde_json::json;
use state::World;
use std::sync::Arc;

#[derive(Parser)]
struct Args {
    /// The port; 0 picks one.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let world = Arc::new(World::new()?);
    switchboard_testkit::serve::serve(args.port, move |request| answer(world.clone(), request))
        .await?;
    Ok(())
}

/// A request with its body read.
struct Call {
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    headers: http::HeaderMap,
    body: Bytes,
    /// `http://host:port`, as the caller wrote it.
    base: String,
}

impl Call {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn form(&self) -> Vec<(String, String)> {
        form(&self.body)
    }
}

fn form(bytes: &[u8]) -> Vec<(String, String)> {
    url::form_urlencoded::parse(bytes).into_owned().collect()
}

async fn answer(world: Arc<World>, request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Bytes::new(),
    };
    let host = head.headers.get("host").and_then(|host| host.to_str().ok());
    let call = Call {
        base: format!("http://{}", host.unwrap_or("127.0.0.1")),
        method: head.method,
        path: head.uri.path().to_owned(),
        query: form(head.uri.query().unwrap_or_default().as_bytes()),
        headers: head.headers,
        body,
    };
    match call.path.as_str() {
        "/control" => return json_reply(200, &world.control(&call.body)),
        "/counters" => return json_reply(200, &world.counters()),
        "/log" => return json_reply(200, &world.log()),
        "/mint" => return jwt::mint(&world, &call),
        _ => world.record(&call),
    }
    route(&world, &call).await
}

async fn route(world: &World, call: &Call) -> Response<Body> {
    let path = call.path.as_str();
    if let Some(rest) = path.strip_prefix("/.well-known/") {
        return metadata::well_known(world, call, rest);
    }
    if let Some(rest) = path.strip_prefix("/idp/") {
        return idp::route(world, call, rest);
    }
    if let Some(rest) = path.strip_prefix("/as/") {
        let Some((tenant, endpoint)) = rest.split_once('/') else {
            return not_found();
        };
        return match (&call.method, endpoint) {
            (&Method::GET, "authorize") => authorize::page(world, call, tenant),
            (&Method::POST, "token") => token::endpoint(world, call, tenant).await,
            (&Method::POST, "register") => grants::register(world, call, tenant),
            (&Method::POST, "revoke") => grants::revoke(world, call, tenant),
            _ => not_found(),
        };
    }
    if path == "/mcp" || path.starts_with("/mcp/") {
        return mcp::endpoint(world, call);
    }
    if path == "/elsewhere" {
        // Where faulty redirects lead: nobody should ever come here.
        world.count("elsewhere");
        return json_reply(
            200,
            &json!({"access_token": "stolen", "token_type": "Bearer"}),
        );
    }
    not_found()
}
