//! `login` and `logout`: a person signs in to a server, or out of it.
//!
//! Runs without a keeper, so that the browser that it opens outlives it.

use super::{cluster::OfCluster, explain::missing};
use crate::{
    context::{self, Context},
    failure::{Code, Failure},
    life,
    show::{out, safe, term},
};
use clap::{Args, ValueEnum};
use std::{
    io::{BufRead, Write},
    sync::Arc,
    time::{Duration, SystemTime},
};
use switchboard::tasks;
use switchboard::{
    Look,
    auth::{self, Authority, SignInError, SignedIn, TokenStore, Visit},
    config::{Configured, Entry, Standing, explain},
    host::pins::Pins,
    pin_key, wants_oauth,
};

/// Options of `login`.
#[derive(Debug, Args)]
pub struct Options {
    /// The server
    pub name: String,
    /// Print the address instead of opening a browser, and take the address that it ends up at
    #[arg(long)]
    pub no_browser: bool,
    /// Where to keep the sign-in
    #[arg(long, value_name = "STORE")]
    pub token_store: Option<Store>,
    #[command(flatten)]
    pub cluster: OfCluster,
}

/// Options of `logout`.
#[derive(Debug, Args)]
pub struct LogoutOptions {
    /// The server
    pub name: String,
    #[command(flatten)]
    pub cluster: OfCluster,
}

/// Where sign-ins are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Store {
    /// The system's keychain
    Keychain,
    /// A file that only you can read, not encrypted
    File,
}

impl Store {
    /// The same for the vault.
    pub fn of_vault(self) -> TokenStore {
        match self {
            Self::Keychain => TokenStore::Keychain,
            Self::File => TokenStore::File,
        }
    }
}

/// Signs in.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let config = context.config()?;
    let loaded = config.read();
    let store = options.token_store.map(Store::of_vault);
    let authority = authority(loaded, &options.name, store)?;
    let visit = if options.no_browser {
        Visit::Paste(Arc::new(|page| Box::pin(pasted(page.to_string()))))
    } else {
        Visit::Browser(browser())
    };
    let signed_in = life::short(async |stop| {
        let sign_in = async {
            tokio::select! {
                done = authority.sign_in(&visit) => done.map_err(|fault| failure(&options.name, &fault)),
                () = stop.cancelled() => Err(Failure::new(Code::Interrupted, "interrupted")),
            }
        };
        options
            .cluster
            .with_sign_ins(context, loaded, sign_in)
            .await?
    })??;
    expect_more(context, loaded, &options.name);
    tell(&options.name, &signed_in)?;
    Ok(Code::Done)
}

/// What a server has more of, now that somebody has signed in, is no surprise.
fn expect_more(context: &Context, loaded: &Look, name: &str) {
    let (Ok(places), Some(server)) = (context.places(), loaded.find(name)) else {
        return;
    };
    let pins = Pins::open(places.data.join("pins"));
    if let Err(fault) = pins.signed_in(&pin_key(&server.entry)) {
        context::warn(&fault.to_string());
    }
}

/// Signs out.
pub fn logout(context: &Context, options: &LogoutOptions) -> Result<Code, Failure> {
    let config = context.config()?;
    let loaded = config.read();
    let name = safe::line(&options.name);
    let authority = authority(loaded, &options.name, None)?;
    let sign_out = async |_| {
        let sign_out = authority.sign_out();
        Box::pin(options.cluster.with_sign_ins(context, loaded, sign_out)).await
    };
    let done = life::short(sign_out)??;
    let done = done.map_err(|fault| failure(&options.name, &fault))?;
    if !done.existed {
        out::line(&format!("Nobody was signed in to {name}."))?;
        return Ok(Code::Done);
    }
    out::line(&format!("Signed out of {name}."))?;
    match (&done.fault, done.revoked) {
        (Some(fault), _) => context::warn(&format!(
            "the tokens are gone here, but their issuer could not be told: {fault}"
        )),
        (None, true) => out::line("The issuer has withdrawn the tokens.")?,
        (None, false) => {
            out::line("The issuer withdraws no tokens; they end by themselves.")?;
        }
    }
    Ok(Code::Done)
}

/// The authority over a configured server.
fn authority(loaded: &Look, name: &str, store: Option<TokenStore>) -> Result<Authority, Failure> {
    let Some(server) = loaded.find(name) else {
        return Err(missing(loaded, name));
    };
    if server.standing != Standing::Active {
        return Err(unused(server));
    }
    let entry = context::expanded(loaded, &server.entry)?;
    check(&entry)?;
    let access = context::access(loaded, store)?;
    access
        .authority(&entry)
        .map_err(|faults| context::faulty(&faults))
}

fn unused(server: &Configured) -> Failure {
    let name = &server.entry.name;
    let text = format!("server {name:?} is not used: {}", explain::reason(server));
    let failure = Failure::new(Code::NotPermitted, text);
    match server.standing {
        Standing::PendingApproval => failure.hint(format!(
            "look at it and approve it: switchboard approve {name}"
        )),
        _ => failure.hint(format!("see switchboard explain {name}")),
    }
}

/// Whether one can sign in to it at all.
fn check(entry: &Entry) -> Result<(), Failure> {
    let name = &entry.name;
    if !entry.transport.is_remote() || entry.url.is_none() {
        let text = format!("server {name:?} is on this machine: there is nothing to sign in to");
        return Err(Failure::usage(text));
    }
    if !wants_oauth(entry) {
        let text = format!("the entry of server {name:?} says already who we are");
        let hint = "remove its Authorization header, or the password in its address, to sign in";
        return Err(Failure::usage(text).hint(hint));
    }
    Ok(())
}

/// Shows the address, and opens it.
fn browser() -> auth::Opener {
    let open = auth::browser::system();
    Arc::new(move |page| {
        let _ = writeln!(
            std::io::stderr().lock(),
            "Opening a browser. If none opens, go to this address yourself:\n\n  {page}\n"
        );
        open(page)
    })
}

/// Shows the address, and asks where it led.
async fn pasted(page: String) -> Result<String, auth::AnyError> {
    {
        let mut err = std::io::stderr().lock();
        let _ = writeln!(
            err,
            "Go to this address with any browser, and sign in:\n\n  {page}\n\n\
             It ends at a page that may not load. Paste the address of that page here:"
        );
        let _ = err.flush();
    }
    let read = tasks::blocking(|| {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        read.map(|_| line)
    });
    match read.await {
        Ok(Ok(line)) if !line.trim().is_empty() => Ok(line.trim().to_owned()),
        _ => Err("nothing was pasted".into()),
    }
}

fn tell(name: &str, signed_in: &SignedIn) -> Result<(), Failure> {
    let mut text = format!("Signed in to {}", safe::line(name));
    if let Some(issuer) = &signed_in.issuer {
        text.push_str(&format!(" by {}", safe::line(issuer)));
    }
    out::line(&format!("{text}."))?;
    out::line(&format!("  {}", described(signed_in)))?;
    if signed_in.store == TokenStore::File {
        let _ = writeln!(
            std::io::stderr().lock(),
            "{} the sign-in is kept in a file that only you can read; it is not encrypted",
            term::stderr().yellow("note:")
        );
    }
    Ok(())
}

/// A sign-in in a few words.
pub fn described(signed_in: &SignedIn) -> String {
    let mut parts = Vec::new();
    if !signed_in.scopes.is_empty() {
        parts.push(format!(
            "scopes {}",
            safe::line(&signed_in.scopes.join(" "))
        ));
    }
    parts.push(match (signed_in.renewable, left(signed_in.expires_at)) {
        (true, _) => "renewed by itself".to_owned(),
        (false, Some(left)) => format!("ends in {left}"),
        (false, None) => "without an end".to_owned(),
    });
    parts.push(match signed_in.store {
        TokenStore::Keychain => "kept with the system's keychain".to_owned(),
        TokenStore::File => "kept in a file".to_owned(),
        TokenStore::Cluster => "kept for all replicas of the cluster".to_owned(),
    });
    parts.join(", ")
}

fn left(end: Option<u64>) -> Option<String> {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()?;
    let left = Duration::from_millis(end?).saturating_sub(now).as_secs();
    Some(match left {
        0..60 => format!("{left} s"),
        60..7200 => format!("{} min", left / 60),
        _ => format!("{} h", left / 3600),
    })
}

/// The failure that a fault of signing in is.
pub fn failure(name: &str, fault: &SignInError) -> Failure {
    let (code, hint) = match fault {
        SignInError::NeedsSignIn(_) | SignInError::Withdrawn(_) => {
            (Code::NeedsAuth, Some(format!("switchboard login {name}")))
        }
        SignInError::Client(_) => (
            Code::NeedsAuth,
            Some(format!(
                "sign in once more, which registers anew: switchboard login {name}; if that ends the same \
                 way, register a client there by hand and add its id as oauth.clientId"
            )),
        ),
        SignInError::Denied { .. } | SignInError::Callback(_) => (Code::NeedsAuth, None),
        SignInError::TimedOut(_) => (Code::TimedOut, None),
        SignInError::Settings(_) | SignInError::Helper(_) => (Code::Configuration, None),
        SignInError::Vault(_) => (
            Code::Configuration,
            Some(format!(
                "to keep it in a file instead: switchboard login {name} --token-store file"
            )),
        ),
        SignInError::Registration(_) => (
            Code::Configuration,
            Some("register a client there and add its id as oauth.clientId".to_owned()),
        ),
        SignInError::Refused(_) | SignInError::Issuer { .. } => (Code::NotPermitted, None),
        SignInError::Discovery(_) | SignInError::Token(_) => (Code::Unreachable, None),
    };
    let failure = Failure::new(code, format!("server {name:?}: {fault}"));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
