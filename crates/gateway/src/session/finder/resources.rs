//! Resources by way of tools, for clients that know nothing but tools.

use super::{own, wrong};
use crate::{gateway::Gateway, session::rewrite};
use std::sync::Arc;
use switchboard_host::{
    Admitted, CallError, Client, Event, Outcome, Reply, Scope, catalog::List, limits::MERGED_PAGE,
    observe::Trace,
};
use switchboard_wire::{Id, Kind, Message, Method, Params, code, json};

/// One resource a line, as `resources/list` has it.
pub(super) async fn list(gateway: &Gateway, client: &Arc<Client>) -> String {
    let merged = gateway.host().merged(client, List::Resources).await;
    let items = merged.iter().take(MERGED_PAGE);
    let text = items.map(|item| String::from_utf8_lossy(&item.text()).into_owned());
    let mut lines: Vec<String> = text.collect();
    match merged.len() {
        0 => lines.push("There are no resources.".to_owned()),
        all if all > MERGED_PAGE => {
            lines.push(format!("{} more are left out.", all - MERGED_PAGE));
        }
        _ => {}
    }
    own::text_result(&lines.join("\n"))
}

/// What `resources/read` gives, as content of a tool's result. It passes the same
/// checks; only, nobody is asked on the way.
pub(super) async fn read(
    gateway: &Gateway,
    client: &Arc<Client>,
    call: &Message,
    params: &Params,
    arguments: &[u8],
) -> Result<String, CallError> {
    let uri = own::read_arguments(arguments)?;
    let meta = params
        .meta
        .map(|span| String::from_utf8_lossy(span.of(call.raw())));
    let meta = meta.map_or_else(String::new, |meta| format!(",\"_meta\":{meta}"));
    let wanted = format!("{{\"uri\":{}{meta}}}", json::quote(&uri));
    let message = Message::request(&Id::number(0), Method::ResourcesRead, &wanted);
    let admitted = Box::new(Admitted {
        client: client.clone(),
        scope: Scope::All,
        params: Params::of(&message)?,
        message,
        headers: None,
        trace: Trace::default(),
        passes_on: false,
    });
    let mut exchange = gateway.host().call(admitted).await?;
    loop {
        match exchange.next().await {
            Event::Notice(_) => {}
            Event::Input(input) => input.refuse_unsupported(),
            Event::Outcome(Outcome::Failed(fault)) => return Err(fault),
            Event::Outcome(Outcome::Begun(_)) => return Err(CallError::broke_off()),
            Event::Outcome(Outcome::Reply(mut reply)) => {
                let server = exchange.connection().server_name();
                rewrite::reply(
                    gateway,
                    client,
                    server,
                    Method::ResourcesRead,
                    &mut reply,
                    &[],
                );
                return content(&reply);
            }
        }
    }
}

fn content(reply: &Reply) -> Result<String, CallError> {
    let answer = Message::parse(reply.payload(&Id::number(0)).into_bytes())
        .map_err(|fault| CallError::from(fault.to_error()))?;
    if answer.kind() == Kind::Error {
        let code = answer.error_code().unwrap_or(code::INTERNAL);
        return Err(CallError::refused(
            code,
            answer.error_text().unwrap_or_default(),
        ));
    }
    let body = answer.body();
    let Some(contents) = json::field(body, "contents").ok().flatten() else {
        let what = "its server asks for something first; read it with resources/read";
        return Err(wrong(own::READ_RESOURCE, what));
    };
    let items = json::elements(contents.of(body)).map(|item| {
        let item = String::from_utf8_lossy(item.of(contents.of(body)));
        format!("{{\"type\":\"resource\",\"resource\":{item}}}")
    });
    let items: Vec<String> = items.collect();
    Ok(format!(
        "{{\"content\":[{}],\"resultType\":\"complete\"}}",
        items.join(",")
    ))
}
