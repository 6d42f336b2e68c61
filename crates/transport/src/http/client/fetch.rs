//! One HTTP request with what belongs around it: credentials, and redirects
//! within the origin.

use super::{
    Asking, Authorize, Refusal, Withheld, answer::Answer, headers::is_ours, http1::Request,
    link::Shared, redirect,
};
use crate::{limits, link::Undelivered};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use std::sync::atomic::Ordering;
use switchboard_wire::Payload;

pub(super) use crate::limits::LEFTOVERS;

/// What to send.
pub(super) struct Wanted<'a> {
    pub(super) method: Method,
    pub(super) headers: &'a HeaderMap,
    pub(super) more: &'a [(HeaderName, HeaderValue)],
    pub(super) payload: &'a Payload,
}

impl Wanted<'_> {
    fn request(&self, shared: &Shared, path: &Uri, credentials: Option<&HeaderMap>) -> Request<'_> {
        let forward = shared.pool.forward();
        let target = match forward {
            Some(_) => whole(shared, path).unwrap_or_else(|_| path.clone()),
            None => path.clone(),
        };
        let mut more = HeaderMap::new();
        for (name, value) in self.more {
            more.insert(name.clone(), value.clone());
        }
        for (name, value) in credentials.into_iter().flatten() {
            if !is_ours(name) {
                more.insert(name.clone(), value.clone());
            }
        }
        if let Some(Some(shown)) = forward {
            more.insert(header::PROXY_AUTHORIZATION, shown.clone());
        }
        Request {
            method: self.method.clone(),
            target,
            headers: self.headers,
            without: &[],
            besides: &[],
            more,
            payload: self.payload,
        }
    }
}

/// Sends a request and gives the head of its final answer. A refusal (401, 403)
/// comes back only if nobody can do anything about it.
pub(super) async fn fetch(shared: &Shared, wanted: Wanted<'_>) -> Result<Answer, Undelivered> {
    fetch_from(shared, wanted, shared.path(), true).await
}

/// The same at another path of the origin; a redirect is not remembered there.
pub(super) async fn fetch_at(
    shared: &Shared,
    wanted: Wanted<'_>,
    path: Uri,
) -> Result<Answer, Undelivered> {
    let home = path == shared.path();
    fetch_from(shared, wanted, path, home).await
}

async fn fetch_from(
    shared: &Shared,
    wanted: Wanted<'_>,
    mut path: Uri,
    home: bool,
) -> Result<Answer, Undelivered> {
    let mut redirects = 0;
    let mut refusals = 0;
    loop {
        let credentials = match &shared.authorize {
            Some(authorize) => Some(credentials(shared, &**authorize, &wanted, &path).await?),
            None => None,
        };
        let request = wanted.request(shared, &path, credentials.as_ref());
        let answer = shared.pool.send(&request).await?;
        drop(request);
        if let Some(authorize) = &shared.authorize {
            authorize.answered(&answer.headers);
            let let_in = answer.status.is_success();
            if let_in || answer.status == StatusCode::UNAUTHORIZED {
                shared.let_in.store(let_in, Ordering::Relaxed);
            }
        }
        match answer.status.as_u16() {
            status @ (307 | 308) => {
                redirects += 1;
                let next = if redirects > redirect::FOLLOWED {
                    Err(redirect::NotFollowed::TooMany)
                } else {
                    redirect::follow(&shared.url, &path, answer.text(header::LOCATION))
                };
                path = next.map_err(|why| Undelivered::Status {
                    status,
                    preview: why.to_string(),
                })?;
                if status == 308 && home {
                    shared.set_path(path.clone());
                }
                answer.discard(&shared.pool, LEFTOVERS).await;
            }
            status @ (401 | 403) if refusals < limits::REFUSALS => {
                let (Some(authorize), Some(credentials)) = (&shared.authorize, &credentials) else {
                    return Ok(answer);
                };
                refusals += 1;
                let refusal = Refusal {
                    status,
                    headers: &answer.headers,
                    credentials,
                    times: refusals,
                };
                if !authorize.challenged(&refusal).await {
                    return Ok(answer);
                }
                answer.discard(&shared.pool, LEFTOVERS).await;
            }
            _ => return Ok(answer),
        }
    }
}

/// What proves to the server who asks.
async fn credentials(
    shared: &Shared,
    authorize: &dyn Authorize,
    wanted: &Wanted<'_>,
    path: &Uri,
) -> Result<HeaderMap, Undelivered> {
    let url =
        whole(shared, path).map_err(|fault| Undelivered::NotSent(fault.to_string().into()))?;
    let asking = Asking {
        method: &wanted.method,
        url: &url,
        let_in: shared.let_in.load(Ordering::Relaxed),
    };
    authorize
        .headers(&asking)
        .await
        .map_err(Withheld::undelivered)
}

/// The whole address of a path at the link's origin.
fn whole(shared: &Shared, path: &Uri) -> Result<Uri, http::uri::InvalidUriParts> {
    let mut parts = shared.url.clone().into_parts();
    parts.path_and_query = path.path_and_query().cloned();
    Uri::from_parts(parts)
}
