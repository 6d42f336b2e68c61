//! What the official suite asks of an MCP client, done with `switchboard-host`:
//! the proof that the host is a correct one. The suite starts it with the
//! address of its server and says in the environment what is tested:
//!
//! - `MCP_CONFORMANCE_SCENARIO`: the scenario
//! - `MCP_CONFORMANCE_PROTOCOL_VERSION`: the revision to speak
//! - `MCP_CONFORMANCE_CONTEXT`: JSON, what the scenario gives along
//!
//! It ends with 0 when the conversation went as it should.
//!
//! - `peer.rs`: the suite's server as the host speaks to it
//! - `answers.rs`: what the client answers when it is asked something
//! - `scenarios.rs`: what each scenario is about
//! - `auth.rs`: those in which somebody has to sign in
//! - `headers.rs`, `rounds.rs`, `skills.rs`: the longer ones

#![allow(unreachable_pub, reason = "a program has no outside")]

mod answers;
mod auth;
mod headers;
mod peer;
mod rounds;
mod scenarios;
mod skills;

use anyhow::{Context, Result};
use peer::Peer;
use serde_json::Value;
use std::env;
use switchboard_wire::Revision;

#[tokio::main]
async fn main() -> Result<()> {
    let url = env::args()
        .skip(1)
        .next_back()
        .context("the address of a server is missing")?;
    let url: http::Uri = url
        .parse()
        .with_context(|| format!("{url:?} is no address"))?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").context("MCP_CONFORMANCE_SCENARIO")?;
    let revision =
        env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").context("MCP_CONFORMANCE_PROTOCOL_VERSION")?;
    let revision =
        Revision::parse(&revision).with_context(|| format!("no revision {revision:?} is known"))?;
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "null".into());
    let context: Value = serde_json::from_str(&context).context("MCP_CONFORMANCE_CONTEXT")?;
    let revision = scenarios::revision(&scenario, revision);
    if scenario.starts_with("auth/") {
        return auth::run(&scenario, url, revision, &context).await;
    }
    let peer = Peer::new(url, revision);
    let done = scenarios::run(&scenario, &peer, &context).await;
    peer.close().await;
    done
}
