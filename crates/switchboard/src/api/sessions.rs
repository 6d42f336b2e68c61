//! Coming in with a single-use code: what is to be run is approved in a session that one
//! opened, and by no token. `up` prints codes, and whoever holds the control token is given
//! one, as `switchboard console` is; which it was is on record.

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::{Ask, CONTROL, Who},
};
use crate::limits;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use subtle::ConstantTimeEq;
use switchboard_api::sessions::{Code, Enter, Entered, Me, Role};
use switchboard_gateway::ControlSession;
use switchboard_local::random::{self, NoRandomness};
use switchboard_record::audit::Record;
use tokio_util::sync::CancellationToken;

/// Codes that were given out, and sessions that are open. Neither is kept as it is shown.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    codes: Mutex<Vec<Given>>,
    open: Mutex<Vec<Opened>>,
}

/// What of a secret is kept.
pub(super) type Hash = [u8; 32];

#[derive(Debug)]
struct Given {
    hash: Hash,
    at: Instant,
    origin: Origin,
}

/// How a code came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The gateway printed it where it was started.
    Printed,
    /// Somebody asked for it with the control token, or in a session.
    Asked,
}

impl Origin {
    const fn word(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Asked => "asked for",
        }
    }
}

#[derive(Debug)]
struct Opened {
    hash: Hash,
    session: ControlSession,
    used: Instant,
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.session.ended.cancel();
    }
}

pub(super) fn hash(secret: &[u8]) -> Hash {
    Sha256::digest(secret).into()
}

pub(super) fn is(one: &Hash, other: &Hash) -> bool {
    one.ct_eq(other).into()
}

impl Sessions {
    /// A new code. It is good once, for a minute.
    pub(crate) fn code(&self, origin: Origin) -> Result<String, NoRandomness> {
        let now = Instant::now();
        let code = random::id()?;
        let mut codes = self.codes.lock();
        codes.retain(|code| code.is_good(now));
        if codes.len() >= limits::API_CODES {
            codes.remove(0);
        }
        codes.push(Given {
            hash: hash(code.as_bytes()),
            at: now,
            origin,
        });
        Ok(code)
    }

    /// Opens a session with a code, which is of no use afterwards; what opens the session
    /// from now on.
    fn open(&self, code: &str, now: Instant) -> Option<(String, ControlSession, Origin)> {
        let shown = hash(code.as_bytes());
        let origin = {
            let mut codes = self.codes.lock();
            codes.retain(|code| code.is_good(now));
            // Each is compared, so that the time it takes says nothing.
            let found = codes.iter().enumerate().fold(None, |found, (index, code)| {
                is(&code.hash, &shown).then_some(index).or(found)
            });
            codes.remove(found?).origin
        };
        let (bearer, id) = (random::id().ok()?, random::id().ok()?);
        let session = ControlSession {
            // Enough to tell them apart in a record.
            id: id[..8].into(),
            ended: CancellationToken::new(),
        };
        let mut open = self.open.lock();
        open.retain(|one| one.is_good(now));
        if open.len() >= limits::API_SESSIONS {
            let oldest = open.iter().enumerate().min_by_key(|(_, one)| one.used);
            let oldest = oldest.map(|(index, _)| index);
            oldest.map(|index| open.remove(index));
        }
        open.push(Opened {
            hash: hash(bearer.as_bytes()),
            session: session.clone(),
            used: now,
        });
        Some((bearer, session, origin))
    }

    /// The session that a bearer opens.
    pub(crate) fn find(&self, bearer: &[u8]) -> Option<ControlSession> {
        self.find_at(bearer, Instant::now())
    }

    fn find_at(&self, bearer: &[u8], now: Instant) -> Option<ControlSession> {
        let shown = hash(bearer);
        let mut open = self.open.lock();
        open.retain(|one| one.is_good(now));
        let mut found = None;
        for one in open.iter_mut() {
            if is(&one.hash, &shown) {
                one.used = now;
                found = Some(one.session.clone());
            }
        }
        found
    }

    /// Ends a session, with all that is open for it.
    fn end(&self, session: &ControlSession) {
        self.open.lock().retain(|one| one.session.id != session.id);
    }
}

impl Given {
    fn is_good(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < limits::API_CODE_GOOD
    }
}

impl Opened {
    fn is_good(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.used) < limits::API_SESSION_IDLE
    }
}

impl Who {
    /// Somebody who shows nothing, and may only bring a code.
    pub(super) fn stranger() -> Self {
        Self {
            role: Role::Own,
            principal: "".into(),
            session: None,
        }
    }
}

pub(super) fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    match (ask.route.verb, ask.route.path) {
        ("GET", "session") => Reply::json(&me(api, &ask.who)),
        ("POST", "session") => enter(api, ask),
        ("DELETE", "session") => {
            let session = ask.who.session.as_ref();
            let session = session.ok_or_else(|| No::conflict("no session asks this"))?;
            api.sessions.end(session);
            Reply::json(&serde_json::json!({}))
        }
        ("POST", "codes") => {
            // A client's token is none, whatever its role: what is to be run is approved
            // in a session that this code opens. A session is none either: whoever has
            // come in by a code that was good once could come in for ever.
            if *ask.who.principal != *CONTROL || ask.who.session.is_some() {
                return Err(No::not_allowed(
                    "codes are given to the control token alone",
                ));
            }
            let code = api.sessions.code(Origin::Asked);
            let code = code.map_err(|fault| No::broken(&fault))?;
            api.record(ask, Record::new("session.code"));
            Reply::json(&Code {
                address: address(api, &code),
                seconds: seconds(limits::API_CODE_GOOD),
                code,
            })
        }
        _ => Err(No::unavailable("this gateway does not have this")),
    }
}

impl Api {
    /// The address of the page, with a fresh code.
    pub(crate) fn console(&self) -> Option<String> {
        self.address.get()?;
        address(self, &self.sessions.code(Origin::Printed).ok()?)
    }
}

fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

/// The address with a code, as it is opened in a browser.
fn address(api: &Api, code: &str) -> Option<String> {
    let at = api.address.get()?;
    Some(format!("http://{at}/#{code}"))
}

fn enter(api: &Api, ask: &Ask) -> Answer {
    let Enter { code } = ask.body()?;
    let opened = api.sessions.open(&code, Instant::now());
    let (token, session, origin) = opened.ok_or_else(No::wrong_code)?;
    let who = Who {
        role: Role::Admin,
        principal: CONTROL.into(),
        session: Some(session),
    };
    let record = Record::new("session.open").with("origin", origin.word());
    api.watching
        .record(record.with("by", format!("api: {}", who.recorded())));
    Reply::json(&Entered {
        token,
        me: me(api, &who),
        ..Entered::default()
    })
}

pub(super) fn me(api: &Api, who: &Who) -> Me {
    Me {
        principal: who.principal.to_string(),
        role: who.role,
        may_approve: who.may_approve(api),
    }
}

impl Who {
    /// Whether entries with a command may be approved by them: where they came in by a
    /// code, and nothing forbids it.
    pub(super) fn may_approve(&self, api: &Api) -> bool {
        self.session.is_some() && self.role >= Role::Admin && api.may.edit && !api.may.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once_and_for_a_minute() {
        let sessions = Sessions::default();
        let now = Instant::now();
        let code = sessions.code(Origin::Asked).unwrap();
        assert!(sessions.open("", now).is_none());
        assert!(sessions.open(&code[1..], now).is_none());
        assert!(sessions.open(&code, now).is_some());
        assert!(sessions.open(&code, now).is_none());
        let late = sessions.code(Origin::Asked).unwrap();
        let minute = Instant::now() + limits::API_CODE_GOOD;
        assert!(sessions.open(&late, minute).is_none());
    }

    #[test]
    fn of_many_codes_the_last_are_good() {
        let sessions = Sessions::default();
        let codes: Vec<String> = (0..=limits::API_CODES)
            .map(|_| sessions.code(Origin::Asked).unwrap())
            .collect();
        let opens = |code: &String| sessions.open(code, Instant::now()).is_some();
        assert!(!opens(&codes[0]));
        assert!(codes[1..].iter().all(opens));
    }

    #[test]
    fn a_session_ends_by_itself_by_a_word_or_when_there_are_too_many() {
        let sessions = Sessions::default();
        let enter = || {
            let code = sessions.code(Origin::Asked).unwrap();
            let (bearer, session, origin) = sessions.open(&code, Instant::now()).unwrap();
            assert_eq!(origin, Origin::Asked);
            (bearer, session)
        };
        let (bearer, session) = enter();
        assert_eq!(sessions.find(bearer.as_bytes()).unwrap().id, session.id);
        assert!(
            sessions.find(session.id.as_bytes()).is_none(),
            "the id opens nothing"
        );
        sessions.end(&session);
        assert!(session.ended.is_cancelled() && sessions.find(bearer.as_bytes()).is_none());
        let (bearer, session) = enter();
        let day = Instant::now() + limits::API_SESSION_IDLE;
        assert!(sessions.find_at(bearer.as_bytes(), day).is_none());
        assert!(session.ended.is_cancelled());
        let (_, first) = enter();
        for _ in 0..limits::API_SESSIONS {
            enter();
        }
        assert!(
            first.ended.is_cancelled(),
            "whoever was away the longest gives way"
        );
        assert_eq!(sessions.open.lock().len(), limits::API_SESSIONS);
    }
}
