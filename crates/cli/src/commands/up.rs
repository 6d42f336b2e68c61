//! `up`: a gateway on this machine, and how to connect to it.

use crate::{
    commands::{
        serve::{announce, usable},
        tools::sign_in_hint,
    },
    context::Context,
    failure::{Code, Failure},
    life,
    show::{out, safe, term},
};
use clap::Args;
use futures_util::{StreamExt, stream::FuturesUnordered};
use serde_json::{Value, json};
use std::{net::Ipv4Addr, sync::Arc};
use switchboard::{
    Caller, Dirs, Pools, Purpose, Roster, Settings, VERSION,
    builtin::Builtin,
    caller::needs_auth,
    config::{Configured, Loaded, Standing},
    gateway::{ClientToken, Door, Gateway, GatewayOptions, faces},
    host::Server,
    roster::builtin_entry,
    tokens,
    wire::name::Style,
};
use tokio::net::TcpListener;

/// The port that is tried first, and how many after it.
const PORT: u16 = 3700;
const PORTS: u16 = 20;

/// Options of `up`.
#[derive(Debug, Args)]
pub struct Options {
    /// Listen on this port (default: 3700, or the next free one)
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
}

/// Runs until a signal comes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let mut loaded = context.load_all()?;
    add_builtins(&mut loaded);
    let (roster, settings) = context.roster_for(Purpose::Gateway, None, loaded, Style::Short)?;
    usable(&roster)?;
    let dirs =
        Dirs::from_env().map_err(|error| Failure::new(Code::Configuration, error.to_string()))?;
    let token = tokens::client(&dirs)
        .map_err(|error| Failure::new(Code::Configuration, error.to_string()))?;
    life::long(async |stop| {
        let listener = bind(options.port).await?;
        let address = listener
            .local_addr()
            .map_err(|error| Failure::new(Code::Answered, error.to_string()))?;
        announce(address);
        welcome(&format!("http://{address}"), &token, &roster)?;
        let gateway = Gateway::new(
            roster.host.clone(),
            GatewayOptions {
                version: VERSION.to_owned(),
                ..GatewayOptions::default()
            },
        );
        // All client tokens, this one among them, as long as they are not revoked.
        let door = Door {
            live: Some(tokens::live(&dirs)),
            ..Door::default()
        };
        let warm = warm_up(&roster, &settings);
        let served = {
            let serve = faces::http::serve(gateway, listener, door, stop);
            tokio::pin!(serve);
            tokio::select! {
                served = &mut serve => served,
                // Kept: whoever holds it keeps the servers warm.
                _caller = warm => serve.await,
            }
        };
        roster.host.close().await;
        served.map_err(|error| Failure::new(Code::Answered, error.to_string()))?;
        Ok(Code::Done)
    })?
}

/// Adds the built-in servers, unless something else has their name.
fn add_builtins(loaded: &mut Loaded) {
    for builtin in Builtin::ALL {
        if loaded.active().all(|entry| entry.name != builtin.name()) {
            let entry = builtin_entry(builtin.name());
            loaded
                .servers
                .insert(0, Configured::new(entry, Standing::Active));
        }
    }
}

async fn bind(port: Option<u16>) -> Result<TcpListener, Failure> {
    let ports = match port {
        Some(port) => port..=port,
        None => PORT..=PORT + PORTS,
    };
    let mut last = None;
    for port in ports {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) => last = Some((port, error)),
        }
    }
    let text = last
        .map(|(port, error)| format!("cannot listen on 127.0.0.1:{port}: {error}"))
        .unwrap_or_default();
    Err(Failure::new(Code::Usage, text).hint("name a free port with --port, or --port 0 for any"))
}

/// The addresses, and what to paste where.
fn welcome(base: &str, token: &ClientToken, roster: &Roster) -> Result<(), Failure> {
    let paint = term::stdout();
    let key = tokens::random().map_err(|error| Failure::new(Code::Answered, error.to_string()))?;
    let key: String = key
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(12)
        .collect();
    // Each client that gets an entry has a key of its own: it says who it is.
    let url = format!("{base}/mcp/@{key}");
    let entry = json!({ "type": "http", "url": url, "headers": { "Authorization": format!("Bearer {}", token.secret) } });
    out::line(&format!(
        "\n{}",
        paint.bold(&format!("Switchboard {VERSION}"))
    ))?;
    out::line(&format!("  all servers as one   {base}/mcp"))?;
    for server in roster.host.servers() {
        let segment = roster
            .host
            .namer()
            .prefix(server.name())
            .unwrap_or_default();
        out::line(&format!(
            "  {:<19}  {base}/mcp/{segment}",
            safe::line(server.name())
        ))?;
    }
    out::line(&format!("\n{}", paint.bold("Claude Code")))?;
    out::line(&format!("  claude mcp add-json switchboard '{entry}'"))?;
    out::line(&format!(
        "\n{}",
        paint.bold("Any other client, in its file of MCP servers")
    ))?;
    let whole: Value = json!({ "mcpServers": { "switchboard": entry } });
    let text = serde_json::to_string_pretty(&whole).unwrap_or_default();
    for line in text.lines() {
        out::line(&format!("  {line}"))?;
    }
    out::line(&format!("\n{}", paint.bold("Servers")))
}

/// Meets every server and prints how it went. Those who connect stay connected.
async fn warm_up(roster: &Roster, settings: &Settings) -> Caller {
    let caller = Caller::shared(roster.host.clone());
    let pools = Pools::new(settings);
    let mut meetings: FuturesUnordered<_> = roster
        .host
        .servers()
        .iter()
        .map(|server| meet(&caller, &pools, server))
        .collect();
    while let Some(line) = meetings.next().await {
        let _ = out::line(&line);
    }
    let _ = out::line(&term::stdout().dim("\nReady. Ctrl-C ends it."));
    drop(meetings);
    caller
}

async fn meet(caller: &Caller, pools: &Pools, server: &Arc<Server>) -> String {
    let paint = term::stdout();
    let remote = server.spec.target.is_remote();
    let name = safe::line(server.name());
    let met = pools.run(remote, caller.meet(server)).await;
    if needs_auth(server) {
        let state = paint.yellow("needs sign-in");
        return format!(
            "  {name:<19}  {state}  {}",
            safe::line(&sign_in_hint(server))
        );
    }
    match met {
        Ok(met) => {
            let tools = caller.tools(&met).await.map_or_else(
                |fault| fault.to_string(),
                |tools| format!("{} tools", tools.len()),
            );
            format!(
                "  {name:<19}  {}  {}",
                paint.green("connected"),
                safe::line(&tools)
            )
        }
        Err(fault) => format!(
            "  {name:<19}  {}  {}",
            paint.red("failed"),
            safe::line(&fault.to_string())
        ),
    }
}
