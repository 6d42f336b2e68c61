//! Who may come in: tokens of clients, made and revoked.

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
};
use crate::tokens::{self, TokenError};
use std::{sync::Arc, time::SystemTime};
use switchboard_api::settings::{MadeToken, MakeToken, Token, Tokens};
use switchboard_host::pins::Pins;
use switchboard_record::audit::Record;

pub(super) fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    let dirs = api.options.dirs().map_err(|fault| No::broken(&fault))?;
    match ask.route.verb {
        "GET" => {}
        "POST" => {
            let MakeToken { name } = ask.body()?;
            let made = tokens::create(&dirs, &name).map_err(|fault| refused(&fault))?;
            // Said as `principal`: what is called a token would be taken for a secret.
            api.record(
                ask,
                Record::new("token.create").with("principal", name.as_str()),
            );
            return Reply::json(&MadeToken {
                file: tokens::file(&dirs, &name).display().to_string(),
                name,
                token: made.secret,
            });
        }
        _ => {
            let name = ask.part();
            tokens::revoke(&dirs, name).map_err(|fault| refused(&fault))?;
            // Whoever gets a token of this name next is somebody else.
            let pins = Pins::open(dirs.data.join("pins"));
            if let Err(fault) = pins.forget_principal(name) {
                tracing::warn!(%fault, "what was pinned for a revoked token is still there");
            }
            api.record(ask, Record::new("token.revoke").with("principal", name));
        }
    }
    let found = tokens::list(&dirs).map_err(|fault| refused(&fault))?;
    let visitors = api.visitors.now();
    let uses = api.watching.tap().map(|tapping| tapping.tap.uses());
    let uses = uses.unwrap_or_default();
    let token = |(name, made): (String, Option<SystemTime>)| {
        let own = visitors.iter().filter(|visitor| visitor.principal == name);
        Token {
            made: made.and_then(millis),
            sessions: own.count(),
            used: api
                .visitors
                .last(&name)
                .map(|seen| seen * 1000)
                .max(uses.get(name.as_str()).map(|used| used.last)),
            in_flight: uses.get(name.as_str()).map_or(0, |used| used.running),
            name,
        }
    };
    Reply::json(&Tokens {
        tokens: found.into_iter().map(token).collect(),
    })
}

fn millis(time: SystemTime) -> Option<u64> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

fn refused(fault: &TokenError) -> No {
    match fault {
        TokenError::Exists(_) => No::conflict(fault.to_string()).field("/name"),
        TokenError::Unknown(_) => No::not_found(fault.to_string()),
        TokenError::Name(_) | TokenError::Ours(_) => No::invalid(fault.to_string()).field("/name"),
        fault => No::broken(fault),
    }
}
