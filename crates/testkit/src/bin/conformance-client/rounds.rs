//! Calls that need input (2026-07-28): each is answered and sent again, and
//! another call in between has nothing to do with it.

use crate::{
    answers::accepted,
    peer::{Peer, call},
};
use anyhow::{Result, ensure};
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use switchboard_agent::{Dialogue, Operator, Question};
use switchboard_wire::{ErrorObject, code};

pub async fn run(peer: &Peer) -> Result<()> {
    peer.connect().await?;
    let busy = Arc::new(Busy {
        dialogue: peer.dialogue().clone(),
        asked: AtomicUsize::new(0),
    });
    expect(
        &peer
            .call_with(busy.clone(), "test_mrtr_echo_state", "{}")
            .await?,
        "echo-state-ok",
    )?;
    expect(
        &peer
            .call_with(busy.clone(), "test_mrtr_no_state", "{}")
            .await?,
        "no-state-ok",
    )?;
    expect(
        &peer
            .call_with(busy.clone(), "test_mrtr_no_result_type", "{}")
            .await?,
        "no-result-type-test-ok",
    )?;
    let asked = busy.asked.load(Ordering::Relaxed);
    ensure!(asked == 2, "two calls need input, but {asked} asked for it");
    Ok(())
}

fn expect(result: &Value, text: &str) -> Result<()> {
    ensure!(
        result["content"][0]["text"] == text,
        "expected {text:?}: {result}"
    );
    Ok(())
}

/// Calls another tool before it answers, between the two rounds of the first.
struct Busy {
    dialogue: Dialogue,
    asked: AtomicUsize,
}

impl Operator for Busy {
    fn elicit<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Value, ErrorObject>> {
        Box::pin(async {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let other = call(&self.dialogue, "test_mrtr_unrelated", "{}").await;
            other.map_err(|fault| ErrorObject::new(code::INTERNAL, fault.to_string()))?;
            Ok(accepted(&question.params))
        })
    }
}
