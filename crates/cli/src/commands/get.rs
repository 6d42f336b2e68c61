//! `get`: one server in full.

use super::{
    explain::{missing, steps},
    login::described,
};
use crate::{
    context::{self, Context, Say},
    failure::{Code, Failure},
    life,
    show::{out, safe, term},
};
use clap::Args;
use serde_json::{Value, json};
use switchboard::{
    Look,
    auth::SignedIn,
    config::{Configured, Standing, explain, redacted},
    wants_oauth,
};

/// Options of `get`.
#[derive(Debug, Args)]
pub struct Options {
    /// The server
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Show passwords, tokens and keys, too
    #[arg(long)]
    pub show_secrets: bool,
}

/// Shows.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let mut loaded = context.look(Say::Everything);
    let name = &options.name;
    if loaded.find(name).is_none() {
        // It may come with a gateway that runs.
        loaded.bring_along();
    }
    let Some(server) = loaded.find(name) else {
        return Err(missing(&loaded, name));
    };
    let entry = &server.entry;
    let written = if options.show_secrets {
        entry.written.clone()
    } else {
        redacted(&entry.written)
    };
    let reason = explain::reason(server);
    let sign_in = sign_in(&loaded, server)?;
    if options.json {
        let shown = json!({
            "name": name,
            "scope": entry.scope.as_str(),
            "file": entry.source.file().map(|file| file.display().to_string()),
            "line": entry.line,
            "transport": entry.transport.as_str(),
            "entry": written,
            "reason": reason,
            "signIn": sign_in.as_ref().map(SignInState::json),
        });
        out::json(shown.to_string().as_bytes())?;
        return Ok(Code::Done);
    }
    let paint = term::stdout();
    out::line(&paint.bold(&safe::line(name)))?;
    if entry.comes_with().is_none() {
        out::line(&format!("  scope   {}", entry.scope))?;
        out::line(&format!("  from    {}", safe::line(&entry.place())))?;
    }
    out::line(&format!("  state   {}", safe::lines(&reason)))?;
    if let Some(sign_in) = &sign_in {
        out::line(&format!("  sign-in {}", sign_in.words(name)))?;
    }
    if written.is_null() {
        // Nobody wrote it; where it is is all that there is to say.
        let at = entry
            .url
            .as_deref()
            .map(|url| format!("  at      {}", safe::line(url)));
        at.map_or(Ok(()), |at| out::line(&at))?;
    } else {
        let text = serde_json::to_string_pretty(&written).unwrap_or_default();
        for line in text.lines() {
            out::line(&format!("  {}", safe::line(line)))?;
        }
    }
    let explained = explain::server(&loaded, name);
    if explained.steps.len() > 1 {
        out::line("  entries of this name:")?;
        steps(&explained, paint)?;
    }
    Ok(Code::Done)
}

/// What is known about the sign-in to a server, without asking it.
enum SignInState {
    In(SignedIn),
    Needed,
    None,
    Unreadable(String),
}

/// Nothing where one would not sign in, or where nothing of the entry may be
/// expanded yet.
fn sign_in(loaded: &Look, server: &Configured) -> Result<Option<SignInState>, Failure> {
    if server.standing != Standing::Active || !server.entry.transport.is_remote() {
        return Ok(None);
    }
    let Ok(entry) = context::expanded(loaded, &server.entry) else {
        return Ok(None);
    };
    let Ok(access) = context::access(loaded, None) else {
        return Ok(None);
    };
    let Some(authority) = access
        .authority(&entry)
        .ok()
        .filter(|_| wants_oauth(&entry))
    else {
        return Ok(None);
    };
    Ok(Some(
        match life::short(async |_| authority.status().await)? {
            Ok(Some(signed_in)) => SignInState::In(signed_in),
            Ok(None) if access.is_known_to_need(&entry) => SignInState::Needed,
            Ok(None) => SignInState::None,
            Err(fault) => SignInState::Unreadable(fault.to_string()),
        },
    ))
}

impl SignInState {
    fn words(&self, name: &str) -> String {
        match self {
            Self::In(signed_in) => {
                let issuer = signed_in.issuer.as_deref().unwrap_or("its issuer");
                format!("by {}: {}", safe::line(issuer), described(signed_in))
            }
            Self::Needed => format!("needed: switchboard login {}", safe::line(name)),
            Self::None => "none".to_owned(),
            Self::Unreadable(why) => safe::line(why),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::In(signed_in) => json!({
                "state": "signed-in",
                "issuer": signed_in.issuer,
                "scopes": signed_in.scopes,
                "expiresAt": signed_in.expires_at,
                "renewable": signed_in.renewable,
            }),
            Self::Needed => json!({"state": "needs-auth"}),
            Self::None => json!({"state": "none"}),
            Self::Unreadable(why) => json!({"state": "unreadable", "reason": why}),
        }
    }
}
