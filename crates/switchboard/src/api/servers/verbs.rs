//! What can be done with a server: the same that the commands of these names do.

use super::{
    super::{
        Api,
        answer::{Answer, No, Reply},
        asking::Ask,
        state,
    },
    look, member, usable, watched,
};
use crate::{limits, permissions::pin_key, report::report};
use std::{net::Ipv4Addr, sync::Arc};
use switchboard_api::{
    servers::{Act, Done},
    state::Server as Row,
};
use switchboard_config::{
    approval::{Binding, Prompt, Store, shown},
    edit::{self, Target},
};
use switchboard_host::{BoxError, pins::Pins};
use switchboard_local::secret;
use switchboard_record::audit::Record;
use switchboard_tasks as tasks;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use url::Url;

pub(super) async fn act(api: &Arc<Api>, ask: &Ask, verb: &str) -> Answer {
    let act: Act = ask.body()?;
    let member = member(api, ask.part())?;
    let name = member.entry.name.clone();
    let (did, open) = match verb {
        "reconnect" => {
            let server = usable(&member)?;
            server.reconnect().await;
            let remote = server.spec.target.is_remote();
            let report = api.pools.run(remote, report(&api.caller, &server)).await;
            (format!("{name}: {}", health(&report)), None)
        }
        "enable" | "disable" => (switch(api, ask, &name, verb == "enable")?, None),
        "sign-in" => sign_in(api, ask, &act, &name, &usable(&member)?).await?,
        "subscribe" | "unsubscribe" => {
            let (server, uri) = (usable(&member)?, act.uri.as_deref());
            let did = watched::watch(api, ask, &server, uri, verb == "subscribe").await?;
            (did, None)
        }
        "sign-out" => {
            let authority = member.authority.as_ref();
            let authority = authority.ok_or_else(|| no_sign_in(&name))?;
            let out = authority.sign_out().await;
            let out = out.map_err(|fault| No::conflict(secret::text(&fault.to_string())))?;
            record(api, ask, "logout", &name);
            if let Ok(server) = usable(&member) {
                server.reconnect().await;
            }
            let did = match out.existed {
                true => format!("signed out of {name}"),
                false => format!("nobody was signed in to {name}"),
            };
            (did, None)
        }
        _ => (
            decide(api, ask, &act, &name, verb == "approve").await?,
            None,
        ),
    };
    let server = state::server(api, &name);
    Reply::json(&Done {
        server: server.unwrap_or_else(|| Row {
            name,
            ..Row::default()
        }),
        did,
        open,
    })
}

fn health(report: &crate::Report) -> String {
    match &report.reason {
        Some(reason) => reason.clone(),
        None => serde_json::to_value(report.health)
            .ok()
            .and_then(|word| word.as_str().map(str::to_owned))
            .unwrap_or_default(),
    }
}

fn no_sign_in(name: &str) -> No {
    No::conflict(format!("there is nothing to sign in to at {name:?}"))
}

/// Puts what was done on record.
pub(in super::super) fn record(api: &Api, ask: &Ask, event: &'static str, server: &str) {
    api.record(ask, Record::new(event).with("server", server));
}

/// Switches a server on or off, in the project of this gateway.
fn switch(api: &Arc<Api>, ask: &Ask, name: &str, on: bool) -> Result<String, No> {
    let places = api.options.places().ok_or_else(no_home)?;
    let project = places.project().display().to_string();
    let target = Target::private(&places.settings());
    let path = ["projects", &project, "disabledMcpServers"];
    let changed = edit::mark(&target, &path, name, !on)
        .map_err(|fault| No::conflict(fault.to_string()).hint(fault.hint()))?;
    api.read_again()?;
    if changed {
        record(api, ask, if on { "enable" } else { "disable" }, name);
    }
    Ok(match (on, changed) {
        (true, true) => format!("{name} switched on"),
        (false, true) => format!("{name} switched off"),
        (true, false) => format!("{name} was not switched off here"),
        (false, false) => format!("{name} is switched off already"),
    })
}

pub(in super::super) fn no_home() -> No {
    No::conflict("there is no home to keep settings in")
}

/// Begins a sign-in, or joins the one under way; the page where somebody has to go.
async fn sign_in(
    api: &Arc<Api>,
    ask: &Ask,
    act: &Act,
    name: &str,
    server: &Arc<switchboard_host::Server>,
) -> Result<(String, Option<String>), No> {
    let stand_in = server.spec.stand_in.as_ref();
    let stand_in = stand_in.ok_or_else(|| no_sign_in(name))?;
    let begun = (stand_in.begin)().await;
    record(api, ask, "login", name);
    let Some(page) = begun.page else {
        // It has ended already, one way or the other.
        let done: Result<(), BoxError> = begun.done.await;
        done.map_err(|fault| No::conflict(secret::text(&fault.to_string())))?;
        return Ok((format!("signed in to {name}"), None));
    };
    if let Some(pasted) = &act.pasted {
        come_back(&page, pasted).await?;
        return Ok((format!("signing in to {name}"), None));
    }
    let server = server.clone();
    tasks::spawn(tasks::Kind::SignIn, async move {
        if begun.done.await.is_ok() {
            server.reconnect().await;
        }
    });
    Ok((format!("go to the page and sign in to {name}"), Some(page)))
}

/// Goes where a browser elsewhere could not: to the place on this machine that the page of
/// a sign-in under way sends people back to, and nowhere else.
async fn come_back(page: &str, pasted: &str) -> Result<(), No> {
    let wrong = || {
        let no = No::invalid("this is not the address that the sign-in ends at");
        no.hint("paste all of it, from http:// on").field("/pasted")
    };
    let page = Url::parse(page).map_err(|fault| No::broken(&fault))?;
    let mut asked = page.query_pairs();
    let back = asked
        .find(|(name, _)| name == "redirect_uri")
        .map(|it| it.1);
    let back = back
        .and_then(|back| Url::parse(&back).ok())
        .ok_or_else(wrong)?;
    let ended = Url::parse(pasted.trim()).map_err(|_| wrong())?;
    let same = ended.origin() == back.origin() && ended.path() == back.path();
    let port = ended.port().filter(|_| same && ended.scheme() == "http");
    let port = port.ok_or_else(wrong)?;
    let path = &ended[url::Position::BeforePath..url::Position::AfterQuery];
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    let visit = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut said = Vec::new();
        stream
            .take(limits::API_COME_BACK_BYTES)
            .read_to_end(&mut said)
            .await
    };
    let visited = timeout(limits::API_PROMPT, visit).await;
    match visited {
        Ok(Ok(_)) => Ok(()),
        _ => Err(No::conflict("no sign-in waits there any more").hint("begin it again")),
    }
}

/// Approves or rejects what a repository brings.
async fn decide(api: &Arc<Api>, ask: &Ask, act: &Act, name: &str, yes: bool) -> Result<String, No> {
    if yes {
        ask.who.must_approve(api)?;
    }
    let places = api.options.places().ok_or_else(no_home)?;
    let look = look(api, &ask.who).await?;
    let store = |fault: switchboard_config::approval::StoreError| {
        No::conflict(fault.to_string()).hint(fault.hint())
    };
    let inside = look
        .servers
        .iter()
        .filter(|server| server.entry.inside && server.entry.name == name);
    let decisions = if yes {
        let mut waiting = inside.filter(|server| shown::waits(server));
        let digest = act.digest.as_deref();
        let digest = digest.ok_or_else(|| {
            No::confirm("the digest of what was shown is needed").field("/digest")
        })?;
        let mut prompts = waiting
            .by_ref()
            .map(|server| (server, Prompt::of(&server.entry, &places)));
        let found = prompts.find(|(_, prompt)| prompt.binding.hash() == digest);
        let (server, prompt) = found.ok_or_else(|| {
            No::conflict("nothing with this digest waits for approval: look at it again")
        })?;
        if let Some(why) = prompt.binding.obstacle() {
            return Err(No::conflict(why));
        }
        // Another server than the one whose tools were pinned.
        let pins = Pins::open(places.data.join("pins"));
        pins.forget(&pin_key(&server.entry))
            .map_err(|fault| No::broken(&fault))?;
        vec![(prompt.binding, true)]
    } else {
        let decisions: Vec<(Binding, bool)> = inside
            .map(|server| (Binding::of(&server.entry, &places), false))
            .collect();
        if decisions.is_empty() {
            let no = No::conflict(format!(
                "server {name:?} does not come from inside a project"
            ));
            return Err(no.hint("switch it off: disable"));
        }
        decisions
    };
    Store::decide(&places.approvals(), &decisions).map_err(store)?;
    record(api, ask, if yes { "approve" } else { "reject" }, name);
    api.read_again()?;
    Ok(format!(
        "{} {name}",
        if yes { "approved" } else { "rejected" }
    ))
}
