//! From an entry to what the host needs to know.

use crate::{VERSION, settings::Settings};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use std::{
    ffi::OsString,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};
use switchboard_builtin::{Builtin, ServerReport, System};
use switchboard_config::{Entry, Fault, Isolation, Transport, expand};
use switchboard_host::{self as host, Host, ServerSpec, ServerState, Target};
use switchboard_transport::process::ServerCommand;

/// The host that a built-in server reports on; empty until it exists.
pub(crate) type Reported = Arc<OnceLock<Weak<Host>>>;

/// Fills in the entry's variables and checks what came out.
pub(crate) fn spec(
    entry: &Entry,
    settings: &Settings,
    lookup: expand::Lookup<'_>,
    reported: &Reported,
) -> Result<ServerSpec, Vec<Fault>> {
    if !entry.faults.is_empty() {
        return Err(entry.faults.clone());
    }
    let expanded = expand::expand(entry, lookup)?;
    let target = match entry.transport {
        Transport::Stdio => Target::Stdio(command(&expanded)),
        Transport::Http => http(&expanded)?,
        Transport::Builtin => builtin(&expanded, reported)?,
        Transport::Sse | Transport::Ws => {
            let mut fault = entry.fault(
                "type",
                format!("the transport {} is not supported yet", entry.transport),
            );
            fault.hint = Some("most servers also speak http".to_owned());
            return Err(vec![fault]);
        }
    };
    let mut spec = ServerSpec::new(entry.name.as_str(), target);
    spec.timeouts = settings.timeouts;
    if let Some(timeout) = entry.timeout {
        spec.timeouts.tool_call = Duration::from_millis(timeout);
    }
    spec.isolation = match entry.isolation {
        Isolation::Shared => host::Isolation::Shared,
        Isolation::Session => host::Isolation::Session,
    };
    spec.era = entry.era;
    spec.rooms.allow.clone_from(&entry.tools.allow);
    spec.rooms.deny.clone_from(&entry.tools.deny);
    Ok(spec)
}

fn command(entry: &Entry) -> ServerCommand {
    ServerCommand {
        program: entry.command.clone().unwrap_or_default().into(),
        args: entry.args.iter().map(OsString::from).collect(),
        env: entry
            .env
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        cwd: entry.cwd.as_ref().map(Into::into),
    }
}

fn http(entry: &Entry) -> Result<Target, Vec<Fault>> {
    let mut faults = Vec::new();
    let url = address(entry).map_err(|fault| faults.push(fault));
    let mut headers = HeaderMap::new();
    for (name, value) in &entry.headers {
        let field = format!("headers.{name}");
        let Ok(key) = name.parse::<HeaderName>() else {
            faults.push(entry.fault(&field, "is no possible name of a header"));
            continue;
        };
        // Headers often hold secrets, so the value is not repeated.
        match value.parse::<HeaderValue>() {
            Ok(mut value) => {
                value.set_sensitive(true);
                headers.append(key, value);
            }
            Err(_) => faults.push(entry.fault(
                &field,
                "has a value that no header can have (a line break?)",
            )),
        }
    }
    match url {
        Ok(url) if faults.is_empty() => Ok(Target::Http { url, headers }),
        _ => Err(faults),
    }
}

fn address(entry: &Entry) -> Result<Uri, Fault> {
    let wrong = |problem: String| {
        let mut fault = entry.fault("url", problem);
        fault.hint = Some("write it like https://example.com/mcp".to_owned());
        fault
    };
    let text = entry.url.as_deref().unwrap_or_default();
    let url: Uri = text
        .parse()
        .map_err(|error| wrong(format!("is no address ({error})")))?;
    match url.scheme_str() {
        Some("http" | "https") if url.host().is_some_and(|host| !host.is_empty()) => Ok(url),
        Some("http" | "https") => Err(wrong("names no host".to_owned())),
        Some(other) => Err(wrong(format!(
            "begins with {other}://, expected http:// or https://"
        ))),
        None => Err(wrong("does not begin with http:// or https://".to_owned())),
    }
}

fn builtin(entry: &Entry, reported: &Reported) -> Result<Target, Vec<Fault>> {
    let Some(builtin) = Builtin::parse(entry.builtin_name()) else {
        let mut fault = entry.fault(
            "builtin",
            format!("there is no built-in server {:?}", entry.builtin_name()),
        );
        let names: Vec<&str> = Builtin::ALL.iter().map(|builtin| builtin.name()).collect();
        fault.hint = Some(format!("there are: {}", names.join(", ")));
        return Err(vec![fault]);
    };
    match builtin {
        Builtin::System => {
            let reported = reported.clone();
            let system = System::new(VERSION).reporting(move || report(&reported));
            Ok(Target::InProcess(Arc::new(move |pipe| {
                switchboard_builtin::in_process(system.clone(), pipe)
            })))
        }
    }
}

fn report(reported: &Reported) -> Vec<ServerReport> {
    let Some(host) = reported.get().and_then(Weak::upgrade) else {
        return Vec::new();
    };
    let each = host.servers().iter().map(|server| {
        let (state, reason) = match &*server.state().borrow() {
            ServerState::Idle => ("idle", None),
            ServerState::Pending => ("pending", None),
            ServerState::Connected => ("connected", None),
            ServerState::Failed(why) => ("failed", Some(why.clone())),
            ServerState::NeedsAuth => ("needs-auth", None),
        };
        ServerReport {
            name: server.name().to_string(),
            state: state.to_owned(),
            reason,
        }
    });
    each.collect()
}
