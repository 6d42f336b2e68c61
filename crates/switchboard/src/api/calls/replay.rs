//! `POST calls/{id}/replay`: a call once more, as it was or changed, and where what comes
//! of it differs. What is told of it is without secrets, as it is everywhere; where another's
//! secrets are sent once more, an admin has to say so, and it is put on record.

use super::{
    super::{
        Api,
        answer::{Answer, No, Reply},
        asking::Ask,
        spliced::{self, Written},
    },
    Repeatable, aside,
    make::{self, Wanted},
    sees, visible,
};
use crate::{limits, watching::Tapping};
use serde_json::Value;
use std::sync::Arc;
use switchboard_api::{
    calls::{Call, Difference, Made, Put, Replay, Replayed},
    sessions::Role,
};
use switchboard_record::{
    audit::Record,
    tap::{
        Sees, Tap,
        difference::{differences, pointer},
        redact,
    },
};
use switchboard_wire::{Message, Method, json as text};

/// Answers.
pub(super) async fn answer(api: &Arc<Api>, tapping: &Tapping, ask: &Ask) -> Answer {
    let call = visible(tapping, ask)?;
    let replay: Replay = ask.large(&api.readings).await?;
    let times = replay.times.unwrap_or(1);
    if !(1..=limits::API_REPLAYS).contains(&times) {
        let text = format!("times is between 1 and {}", limits::API_REPLAYS);
        return Err(No::invalid(text).field("/times"));
    }
    tapping.tap.look();
    let request = tapping.tap.request(call.id).ok_or_else(|| {
        let text = format!("the messages of call {} are not kept", call.id);
        No::gone(text).hint("they are kept while somebody looks, or with --tap")
    })?;
    let request = Message::parse(request.into());
    let request = request.map_err(|fault| No::conflict(fault.to_string()))?;
    let named = replay.server.as_deref().or(call.server.as_deref());
    let named =
        named.ok_or_else(|| No::conflict("this call was for no server").field("/server"))?;
    let server = make::server(api, named)?;
    let params = params(&request, &call, &replay)?;
    uses_secrets(api, ask, &call, &replay, &request)?;
    if !replay.confirmed && !Repeatable::asked(api).await.is(&call) {
        let what = call.name.as_deref().unwrap_or(&call.method);
        let text = format!("{what} does not say that it can be called twice without harm");
        return Err(No::confirm(text).hint("say that it is meant: confirmed"));
    }
    let mut replayed = Replayed::default();
    for _ in 0..times {
        let wanted = Wanted {
            server: server.clone(),
            method: request.method(),
            params: params.clone(),
            era: make::era(replay.era.as_deref())?,
            confirmed: replay.confirmed,
            replay_of: Some(call.id),
        };
        replayed
            .runs
            .push(make::run(api, tapping, &ask.who, wanted).await?);
    }
    let numbers = replayed.runs.iter().map(|made| made.id).chain([call.id]);
    let bytes = numbers.map(|number| tapping.tap.weight(number)).sum();
    let (tap, sees) = (tapping.tap.clone(), sees(&ask.who));
    let by_server = replay.era.is_none();
    let told = move || {
        for made in &mut replayed.runs {
            made.result = made.result.as_ref().map(shown);
            made.error = made.error.as_ref().map(shown);
        }
        compare(&tap, sees, &call, by_server, &mut replayed);
        Reply::json(&replayed)
    };
    aside(&api.readings, &ask.who, bytes, told).await?
}

/// Whether somebody else's secrets may be used for it. They are where the call had any, and
/// are not all set anew.
fn uses_secrets(
    api: &Api,
    ask: &Ask,
    call: &Call,
    replay: &Replay,
    request: &Message,
) -> Result<(), No> {
    let is_own = *call.principal == *make::caller(&ask.who);
    let mut kept = params(request, call, &Replay::default())?;
    if replay.arguments.is_some() {
        let mut value: Value = serde_json::from_str(&kept).unwrap_or_default();
        value["arguments"] = Value::Null;
        kept = value.to_string();
    }
    let (_, secrets) = redact(&kept);
    if is_own || secrets == 0 {
        return Ok(());
    }
    if ask.who.role < Role::Admin {
        let text =
            "this call has secrets of another's in it: to send them once more wants the role admin";
        return Err(No::not_allowed(text));
    }
    let elsewhere = replay.server.as_ref();
    let elsewhere = elsewhere.filter(|server| Some(*server) != call.server.as_ref());
    if let Some(other) = elsewhere.filter(|_| !replay.confirmed) {
        let text = format!("this would tell {other:?} secrets that were meant for another server");
        return Err(No::confirm(text).hint("say that it is meant: confirmed"));
    }
    let record = Record::new("replay").with("call", call.id);
    let record = record.with("principal", call.principal.as_str());
    let record = record.with("server", elsewhere.or(call.server.as_ref()).cloned());
    api.record(ask, record);
    Ok(())
}

/// A value without its secrets.
fn shown(value: &Value) -> Value {
    let (text, cut) = redact(&value.to_string());
    match cut {
        0 => value.clone(),
        _ => serde_json::from_str(&text).unwrap_or(Value::String(text)),
    }
}

/// The parameters to send: as they were, under the server's own name, with what is set.
fn params(request: &Message, call: &Call, replay: &Replay) -> Result<String, No> {
    let key = match request.method() {
        Method::ToolsCall | Method::PromptsGet => Some("name"),
        Method::ResourcesRead => Some("uri"),
        _ => None,
    };
    let named = key.zip(call.name.as_deref());
    let params = make::repeated(request, named);
    if replay.set.is_empty() && replay.arguments.is_none() {
        return Ok(params);
    }
    let no_json = |fault: serde_json::Error| No::conflict(fault.to_string());
    let written = params;
    let whole: Value = serde_json::from_str(&written).map_err(no_json)?;
    let mut params = whole.clone();
    if let Some(arguments) = &replay.arguments {
        params["arguments"] = arguments.clone();
    }
    if replay.set.len() > limits::API_PUTS {
        let text = format!("at most {} values are set at once", limits::API_PUTS);
        return Err(No::invalid(text).field("/set"));
    }
    for put in &replay.set {
        if params.get("arguments").is_none() {
            params["arguments"] = Value::Object(Default::default());
        }
        set(&mut params["arguments"], put)?;
    }
    let whole = Written {
        value: &whole,
        text: &written,
    };
    let params = spliced::text(&params, None, Some(whole));
    match make::readable(&params) {
        true => Ok(params),
        false => Err(No::invalid("the arguments cannot be sent").field("/set")),
    }
}

/// Puts one value where it belongs. What leads there is made where it is missing.
fn set(arguments: &mut Value, put: &Put) -> Result<(), No> {
    let keys: Vec<String> = match put.path.strip_prefix('/') {
        Some(pointer) => {
            let keys = pointer.split('/').take(limits::API_PATH_STEPS + 1);
            keys.map(|key| key.replace("~1", "/").replace("~0", "~"))
                .collect()
        }
        None => {
            let keys = put.path.split('.').take(limits::API_PATH_STEPS + 1);
            keys.map(str::to_owned).collect()
        }
    };
    // A value without a bound on its depth could not even be let go of.
    if keys.len() > limits::API_PATH_STEPS {
        let text = format!("a path has at most {} steps", limits::API_PATH_STEPS);
        return Err(No::invalid(text).field("/set"));
    }
    let wrong = |key: &str| {
        let text = format!("{:?}: nothing can be set at {key:?}", put.path);
        No::invalid(text).field("/set")
    };
    let mut at = arguments;
    for key in &keys {
        if key.is_empty() {
            return Err(wrong(key));
        }
        at = match at {
            Value::Array(all) => {
                let number = key.parse::<usize>().map_err(|_| wrong(key))?;
                if number == all.len() {
                    all.push(Value::Null);
                }
                all.get_mut(number).ok_or_else(|| wrong(key))?
            }
            Value::Object(all) => all.entry(key.clone()).or_insert(Value::Null),
            Value::Null => {
                *at = Value::Object(Default::default());
                at.as_object_mut()
                    .ok_or_else(|| wrong(key))?
                    .entry(key.clone())
                    .or_insert(Value::Null)
            }
            _ => return Err(wrong(key)),
        };
    }
    *at = put.value.clone();
    Ok(())
}

/// Says where the last result is another than the first call's: by what the server
/// answered, or across eras by what the clients were told.
fn compare(tap: &Tap, sees: Sees, call: &Call, by_server: bool, replayed: &mut Replayed) {
    let last = replayed.runs.last().map(|made: &Made| made.id);
    let answer = |number: u64| {
        let answer = tap.answer(number, sees, by_server);
        let answer = answer.or_else(|| tap.answer(number, sees, false))?;
        body(&answer)
    };
    let (Some(before), Some(after)) = (answer(call.id), last.and_then(answer)) else {
        return;
    };
    replayed.same = before == after;
    // Whether a word is a secret its name may tell, which is not in what differs.
    let whole = |text: &[u8]| {
        let (text, _) = redact(&String::from_utf8_lossy(text));
        text.into_bytes()
    };
    let (before, after) = (whole(&before), whole(&after));
    let value = |text: &[u8]| serde_json::from_slice::<Value>(text).ok();
    replayed.differences = differences(&before, &after)
        .into_iter()
        .take(limits::API_DIFFERENCES)
        .map(|one| Difference {
            path: pointer(&one.path),
            before: one.before.and_then(|span| value(span.of(&before))),
            after: one.after.and_then(|span| value(span.of(&after))),
        })
        .collect();
}

/// What an answer says, without the envelope.
fn body(answer: &[u8]) -> Option<Vec<u8>> {
    let [result, error] = text::fields(answer, ["result", "error"]).ok()?;
    let span = result.or(error)?;
    Some(span.of(answer).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_put_where_they_belong() {
        let mut arguments = json!({"a": {"b": [1, 2]}, "t": "x"});
        for (path, value) in [
            ("a.b.0", json!(9)),
            ("/a/b/2", json!(3)),
            ("/n~1m/k", json!("new")),
            ("t", json!(null)),
        ] {
            let path = path.to_owned();
            set(&mut arguments, &Put { path, value }).unwrap();
        }
        let expected = json!({"a": {"b": [9, 2, 3]}, "t": null, "n/m": {"k": "new"}});
        assert_eq!(arguments, expected);
        let (deep, deeper) = (
            "/k".repeat(50_000),
            "k.".repeat(limits::API_PATH_STEPS) + "k",
        );
        for path in ["", "a.b.7", "a.b.x", "a..b", &deep, &deeper] {
            let put = Put {
                path: path.to_owned(),
                value: json!(1),
            };
            assert!(set(&mut arguments, &put).is_err(), "{path}");
        }
    }

    #[test]
    fn what_only_one_request_was_for_is_left_out() {
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t","arguments":{"n":1.0},"_meta":{"progressToken":1,"io.modelcontextprotocol/x":{},"mine":2}}}"#;
        let request = Message::parse(text.into()).unwrap();
        let expected = r#"{"name":"t","arguments":{"n":1.0},"_meta":{"mine":2}}"#;
        assert_eq!(make::repeated(&request, Some(("name", "t"))), expected);
    }
}
