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
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant, UNIX_EPOCH},
};
use switchboard_api::sessions::{Begin, Begun, Entered, Finish, Renew, Role, Ways};
use switchboard_auth::{self as auth, Back, PeopleError, Rejected, Secret, SignedPerson};
use switchboard_local::random;
use switchboard_record::audit::Record;
use switchboard_tasks as tasks;
use tokio::sync::{OwnedMutexGuard, oneshot};

/// The way in for people, and what newer tokens are had for.
pub(crate) struct People {
    at: Option<Arc<auth::People>>,
    kept: Mutex<Vec<Arc<Kept>>>,
}

/// What a newer token is had for. What stands for it is not kept as the page has it.
struct Kept {
    hash: sessions::Hash,
    /// Whose it is.
    principal: String,
    /// Held while a newer token is asked for; nothing once there is one, which has a place
    /// of its own.
    refresh: Arc<tokio::sync::Mutex<Option<Secret>>>,
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

    /// Keeps what a newer token is had for; what stands for it. Whoever has many gives up the
    /// oldest of them, and nobody else one of theirs.
    fn keep(&self, principal: &str, refresh: Secret, now: Instant) -> Option<String> {
        let shown = random::id().ok()?;
        let mut kept = self.kept.lock();
        kept.retain(|one| one.is_good(now));
        let own = kept.iter().filter(|one| one.principal == principal).count();
        let gives_up = match () {
            () if own >= limits::API_SIGN_INS_EACH => Some(principal.to_owned()),
            () if kept.len() >= limits::API_SIGN_INS => has_most(&kept),
            () => None,
        };
        let oldest = kept
            .iter()
            .position(|one| Some(&one.principal) == gives_up.as_ref());
        if let Some(oldest) = oldest {
            kept.remove(oldest);
        }
        kept.push(Arc::new(Kept {
            hash: sessions::hash(shown.as_bytes()),
            principal: principal.to_owned(),
            refresh: Arc::new(tokio::sync::Mutex::new(Some(refresh))),
            since: now,
        }));
        Some(shown)
    }

    /// What this stands for.
    fn find(&self, shown: &str, now: Instant) -> Option<Arc<Kept>> {
        let shown = sessions::hash(shown.as_bytes());
        let mut kept = self.kept.lock();
        kept.retain(|one| one.is_good(now));
        let found = kept.iter().fold(None, |found, one| {
            sessions::is(&one.hash, &shown).then_some(one).or(found)
        });
        found.cloned()
    }

    /// Keeps it no longer; whether it was kept.
    fn forget(&self, one: &Arc<Kept>) -> bool {
        let mut kept = self.kept.lock();
        let before = kept.len();
        kept.retain(|other| !Arc::ptr_eq(one, other));
        kept.len() < before
    }

    /// What is left of a sign-in after a newer token was asked for: `heard` tells whoever
    /// asked, and says whether they did hear. Who has left finds it under what they still
    /// have, as it is now.
    fn settle(
        &self,
        one: &Arc<Kept>,
        mut held: OwnedMutexGuard<Option<Secret>>,
        renewed: Option<Secret>,
        heard: impl FnOnce(Option<String>) -> bool,
    ) {
        // Somebody signed out meanwhile, or the issuer says that it is over.
        let (true, Some(refresh)) = (self.forget(one), renewed) else {
            heard(None);
            return;
        };
        let next = self.keep(&one.principal, refresh.clone(), Instant::now());
        if heard(next.clone()) {
            *held = None;
            return;
        }
        if let Some(next) = next.and_then(|next| self.find(&next, Instant::now())) {
            self.forget(&next);
        }
        *held = Some(refresh);
        self.kept.lock().push(one.clone());
    }
}

/// Who has most of these.
fn has_most(kept: &[Arc<Kept>]) -> Option<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for one in kept {
        *counts.entry(&one.principal).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(principal, _)| principal.to_owned())
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
            let at = people.at()?;
            let Begin { back } = ask.body()?;
            if !ask.is_from(&back) {
                return Err(no(PeopleError::Back));
            }
            let begun = at.begin(&back).await.map_err(no)?;
            Reply::json(&Begun {
                open: begun.page.into(),
                state: begun.state,
                secret: begun.secret.expose().to_owned(),
            })
        }
        "session/finish" => {
            let Finish {
                back,
                state,
                secret,
                code,
                iss,
            } = ask.body()?;
            let back = Back {
                to: &back,
                state: &state,
                secret: &secret,
                code: &code,
                issuer: iss.as_deref(),
            };
            let signed = people.at()?.finish(&back).await.map_err(no)?;
            let record = Record::new("session.open").with("origin", "signed in");
            let by = signed.admitted.principal();
            api.watching.record(record.with("by", format!("api: {by}")));
            let by = signed.admitted.principal();
            let refresh = signed.refresh.clone();
            let renewal = refresh.and_then(|one| people.keep(&by, one, Instant::now()));
            Reply::json(&entered(api, &signed, renewal))
        }
        "session/renew" => {
            let Renew { renewal, end } = ask.body()?;
            people.at()?;
            let kept = people.find(&renewal, Instant::now()).ok_or_else(over)?;
            if end {
                people.forget(&kept);
                return Reply::json(&Entered::default());
            }
            // One at a time: what another request of the same page began is waited for.
            let held = kept.refresh.clone().lock_owned().await;
            let (tell, told) = oneshot::channel();
            // The provider takes what it is shown once: whether or not the page waits for it,
            // what comes of it is kept.
            let api = api.clone();
            tasks::spawn(tasks::Kind::SignIn, async move {
                renew(&api, &kept, held, renewal, tell).await;
            });
            told.await.map_err(|fault| No::broken(&fault))?
        }
        _ => Err(No::unavailable("this gateway does not have this")),
    }
}

fn over() -> No {
    No::gone("this sign-in is over: sign in again")
}

/// Asks for a newer token, and tells what came of it.
async fn renew(
    api: &Api,
    kept: &Arc<Kept>,
    mut held: OwnedMutexGuard<Option<Secret>>,
    renewal: String,
    tell: oneshot::Sender<Answer>,
) {
    let (Ok(at), Some(refresh)) = (api.people.at(), held.clone()) else {
        let _ = tell.send(Err(over()));
        return;
    };
    match at.renew(&refresh, &kept.principal).await {
        Ok(signed) => {
            let newer = signed.refresh.clone();
            api.people.settle(kept, held, newer, |renewal| {
                let answer = match renewal {
                    Some(_) => Reply::json(&entered(api, &signed, renewal)),
                    None => Err(over()),
                };
                tell.send(answer).is_ok()
            });
        }
        Err(unrenewed) => {
            tracing::debug!(fault = %unrenewed.why, "a sign-in was not renewed");
            let answer = match unrenewed.refresh {
                // Whoever cannot be asked now may be asked later.
                Some(left) => {
                    *held = Some(left);
                    Reply::json(&Entered {
                        renewal: Some(renewal),
                        ..Entered::default()
                    })
                }
                None => {
                    api.people.forget(kept);
                    Err(over())
                }
            };
            let _ = tell.send(answer);
        }
    }
}

fn entered(api: &Api, signed: &SignedPerson, renewal: Option<String>) -> Entered {
    let SignedPerson {
        token, admitted, ..
    } = signed;
    let roles = admitted.roles.iter();
    let who = Who {
        role: Role::most(roles.map(String::as_str)),
        principal: admitted.principal().into(),
        session: None,
    };
    let until = admitted.good_until().duration_since(UNIX_EPOCH);
    Entered {
        token: token.expose().to_owned(),
        me: sessions::me(api, &who),
        until: until.ok().and_then(millis),
        renewal,
    }
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
        PeopleError::Unreachable(_) | PeopleError::Unfit(Rejected::Unavailable(_)) => {
            No::away(text).hint("sign in again in a moment; if it stays so, ask whoever runs the gateway whether it reaches the identity provider")
        }
        PeopleError::Busy => No::too_many(text).hint("sign in again in a moment"),
        PeopleError::Unfit(_) => No::not_allowed(text).hint(
            "its access token must be meant for --audience: whoever runs the gateway may have to ask for that with --sign-in-param",
        ),
        PeopleError::OtherIssuer | PeopleError::OtherPerson | PeopleError::Refused(_) => {
            No::not_allowed(text)
        }
        PeopleError::Random(fault) => No::broken(&fault),
    }
}

#[cfg(test)]
mod tests;
