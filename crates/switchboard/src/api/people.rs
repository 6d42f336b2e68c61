//! People who sign in at an identity provider. The token that lets them in is the provider's
//! own, as any client's may be, so that the same door judges both; what a newer one is had
//! for stays here, and the page holds what stands for it.

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::{Ask, Who},
    sessions,
};
use crate::limits;
use parking_lot::Mutex;
use std::{
    sync::Arc,
    time::{Duration, Instant, UNIX_EPOCH},
};
use switchboard_api::sessions::{Begin, Begun, Entered, Finish, Renew, Role, Ways};
use switchboard_auth::{self as auth, Back, PeopleError, Secret, SignedPerson};
use switchboard_local::random;
use switchboard_record::audit::Record;

/// The way in for people, and what newer tokens are had for.
pub(crate) struct People {
    at: Option<Arc<auth::People>>,
    kept: Mutex<Vec<Kept>>,
}

/// What a newer token is had for. What stands for it is not kept as the page has it.
struct Kept {
    hash: sessions::Hash,
    refresh: Secret,
    since: Instant,
}

impl People {
    pub(crate) fn new(at: Option<Arc<auth::People>>) -> Self {
        Self {
            at,
            kept: Mutex::default(),
        }
    }

    fn at(&self) -> Result<&Arc<auth::People>, No> {
        self.at.as_ref().ok_or_else(|| {
            No::unavailable("people do not sign in at an identity provider here")
                .hint("serve --auth oidc … --sign-in-client ID")
        })
    }

    /// Keeps what a newer token is had for; what stands for it.
    fn keep(&self, refresh: Secret, now: Instant) -> Option<String> {
        let shown = random::id().ok()?;
        let mut kept = self.kept.lock();
        kept.retain(|one| one.is_good(now));
        if kept.len() >= limits::API_SESSIONS {
            kept.remove(0);
        }
        kept.push(Kept {
            hash: sessions::hash(shown.as_bytes()),
            refresh,
            since: now,
        });
        Some(shown)
    }

    /// What this stands for. It is good once.
    fn take(&self, shown: &str, now: Instant) -> Option<Secret> {
        let shown = sessions::hash(shown.as_bytes());
        let mut kept = self.kept.lock();
        kept.retain(|one| one.is_good(now));
        let found = kept.iter().enumerate().fold(None, |found, (index, one)| {
            sessions::is(&one.hash, &shown).then_some(index).or(found)
        });
        Some(kept.remove(found?).refresh)
    }
}

impl Kept {
    fn is_good(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < limits::API_SESSION_IDLE
    }
}

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    let people = &api.people;
    match ask.route.path {
        "session/ways" => Reply::json(&Ways {
            provider: people.at.as_ref().map(|at| at.host()),
        }),
        "session/begin" => {
            let Begin { back } = ask.body()?;
            let begun = people.at()?.begin(&back).await.map_err(no)?;
            Reply::json(&Begun {
                open: begun.page.into(),
                state: begun.state,
            })
        }
        "session/finish" => {
            let Finish {
                back,
                state,
                code,
                iss,
            } = ask.body()?;
            let back = Back {
                to: &back,
                state: &state,
                code: &code,
                issuer: iss.as_deref(),
            };
            let signed = people.at()?.finish(&back).await.map_err(no)?;
            let record = Record::new("session.open").with("origin", "signed in");
            let by = signed.admitted.principal();
            api.watching.record(record.with("by", format!("api: {by}")));
            entered(api, signed)
        }
        "session/renew" => {
            let Renew { renewal, end } = ask.body()?;
            let at = people.at()?;
            let over = || No::gone("this sign-in is over: sign in again");
            let refresh = people.take(&renewal, Instant::now()).ok_or_else(over)?;
            if end {
                return Reply::json(&Entered::default());
            }
            match at.renew(&refresh).await {
                Ok(signed) => entered(api, signed),
                // Whoever cannot be asked now may be asked later.
                Err(fault @ PeopleError::Unreachable(_)) => {
                    let renewal = people.keep(refresh, Instant::now());
                    tracing::debug!(%fault, "a sign-in was not renewed");
                    Reply::json(&Entered {
                        renewal,
                        ..Entered::default()
                    })
                }
                Err(_) => Err(over()),
            }
        }
        _ => Err(No::unavailable("this gateway does not have this")),
    }
}

fn entered(api: &Api, signed: SignedPerson) -> Answer {
    let SignedPerson {
        token,
        refresh,
        admitted,
    } = signed;
    let roles = admitted.roles.iter();
    let who = Who {
        role: Role::most(roles.map(String::as_str)),
        principal: admitted.principal().into(),
        session: None,
    };
    let until = admitted.good_until().duration_since(UNIX_EPOCH);
    Reply::json(&Entered {
        token: token.expose().to_owned(),
        me: sessions::me(api, &who),
        until: until.ok().and_then(millis),
        renewal: refresh.and_then(|refresh| api.people.keep(refresh, Instant::now())),
    })
}

fn millis(time: Duration) -> Option<u64> {
    u64::try_from(time.as_millis()).ok()
}

/// Why nobody came in, and what helps.
fn no(fault: PeopleError) -> No {
    let text = fault.to_string();
    match fault {
        PeopleError::Back => No::invalid(text).field("/back"),
        PeopleError::NotBegun => No::conflict(text).hint("begin again"),
        PeopleError::Unfit(_) => No::not_allowed(text).hint(
            "its access token must be meant for --audience: whoever runs the gateway may have to ask for that with --sign-in-param",
        ),
        PeopleError::Unreachable(_) => No::unavailable(text),
        PeopleError::OtherIssuer | PeopleError::Refused(_) => No::not_allowed(text),
        PeopleError::Random(fault) => No::broken(&fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_a_sign_in_is_good_once_for_a_day_and_they_are_few() {
        let people = People::new(None);
        let now = Instant::now();
        let shown = people.keep(Secret::new("r"), now).unwrap();
        assert!(people.take("", now).is_none());
        assert!(people.take(&shown[1..], now).is_none());
        assert_eq!(people.take(&shown, now), Some(Secret::new("r")));
        assert!(people.take(&shown, now).is_none());
        let shown = people.keep(Secret::new("r"), now).unwrap();
        assert!(
            people
                .take(&shown, now + limits::API_SESSION_IDLE)
                .is_none()
        );
        for _ in 0..2 * limits::API_SESSIONS {
            people.keep(Secret::new("r"), now).unwrap();
        }
        assert_eq!(people.kept.lock().len(), limits::API_SESSIONS);
    }
}
