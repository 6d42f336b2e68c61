//! Newline-delimited JSON on stdin and stdout. One thread reads and answers
//! the cheap calls itself; the others run on the runtime.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};

use switchboard_testkit::json::{self, Message};
use tokio::runtime::Runtime;

use crate::Eras;
use crate::call::Call;
use crate::fast;
use crate::world::{Era, Out, Session, World, lock};

/// Serves until stdin ends.
pub fn serve(world: &Arc<World>, runtime: &Runtime) -> std::io::Result<()> {
    let stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let out = Arc::new(Mutex::new(stdout));
    let session = Arc::new(Session::default());
    session.stand(Out::Stdout(Arc::clone(&out)));
    if world.eras != Eras::Modern {
        lock(&world.sessions).insert("stdio".into(), Arc::clone(&session));
    }
    let mut input = BufReader::with_capacity(256 * 1024, stdin);
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        take(world, &session, &out, &line, runtime)?;
        if line.capacity() > 4 << 20 {
            line = Vec::new();
        }
    }
}

fn take(
    world: &Arc<World>,
    session: &Arc<Session>,
    stdout: &Arc<Mutex<File>>,
    line: &[u8],
    runtime: &Runtime,
) -> std::io::Result<()> {
    let out = || Out::Stdout(Arc::clone(stdout));
    let Some(message) = Message::read(line) else {
        if !line.trim_ascii().is_empty() {
            out().send(
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#
                    .into(),
            );
        }
        return Ok(());
    };
    let era = era(&message);
    if admits(world.eras, era)
        && let Some(mut reply) = fast::reply(world, &message, era)
    {
        let mut stdout = lock(stdout);
        if reply.tail.len() < 16 * 1024 {
            reply.head.extend_from_slice(&reply.tail);
            reply.head.push(b'\n');
            return stdout.write_all(&reply.head);
        }
        stdout.write_all(&reply.head)?;
        stdout.write_all(&reply.tail)?;
        return stdout.write_all(b"\n");
    }
    match (&message.method, message.id) {
        (Some(_), Some(_)) => {
            let Some(call) = Call::new(world, session, out(), era, &message) else {
                return Ok(());
            };
            let out = out();
            runtime.spawn(async move {
                let id = call.id.clone();
                if let Some(reply) = call.run().await.render(&id) {
                    out.send(reply);
                }
            });
        }
        (Some(method), None) if method == "notifications/cancelled" => {
            if let Some(id) = json::path(line, &["params", "requestId"]) {
                session.cancel(id);
            }
        }
        (None, Some(_)) => session.answered(line),
        _ => {}
    }
    Ok(())
}

/// Requests with the modern metadata are modern, all others legacy.
pub fn era(message: &Message<'_>) -> Era {
    let meta = message.params.and_then(|params| json::get(params, "_meta"));
    let version = meta.and_then(|m| json::get(m, "io.modelcontextprotocol/protocolVersion"));
    if version.is_some() {
        Era::Modern
    } else {
        Era::Legacy
    }
}

/// Whether the server speaks this era at all.
pub fn admits(eras: Eras, era: Era) -> bool {
    match era {
        Era::Legacy => eras != Eras::Modern,
        Era::Modern => eras != Eras::Legacy,
    }
}
