//! Where a redirect leads, if it may be followed: the same origin only, so that
//! neither headers nor bodies reach anybody they were not meant for.

use crate::dial::origin;
use http::{Uri, uri::PathAndQuery};

pub(super) use crate::limits::REDIRECTS as FOLLOWED;

/// Why a redirect is not followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotFollowed {
    #[error("more than {FOLLOWED} redirects")]
    TooMany,
    #[error("a redirect without a Location")]
    NoLocation,
    #[error("a redirect to an address that cannot be read")]
    Unreadable,
    #[error("a redirect to another origin is not followed")]
    Elsewhere,
    #[error("a redirect to another origin ({0}) is not followed")]
    To(String),
}

/// The path that `location` leads to from `path` at `base`, or why it is not followed.
pub(super) fn follow(base: &Uri, path: &Uri, location: Option<&str>) -> Result<Uri, NotFollowed> {
    let location = location.ok_or(NotFollowed::NoLocation)?;
    // What follows '#' is for browsers.
    let location = location.split('#').next().unwrap_or_default().trim();
    if location.starts_with("//") || location.contains('\\') {
        return Err(NotFollowed::Elsewhere);
    }
    let target = if location.contains("://") {
        let target: Uri = location.parse().map_err(|_| NotFollowed::Unreadable)?;
        let userinfo = target
            .authority()
            .is_some_and(|authority| authority.as_str().contains('@'));
        if origin(&target) != origin(base) || userinfo {
            return Err(NotFollowed::To(origin(&target)));
        }
        target.path_and_query().cloned()
    } else {
        let full = if location.starts_with('/') {
            location.to_owned()
        } else {
            let here = path.path();
            format!("{}/{location}", &here[..here.rfind('/').unwrap_or(0)])
        };
        Some(
            full.parse::<PathAndQuery>()
                .map_err(|_| NotFollowed::Unreadable)?,
        )
    };
    Ok(Uri::from(
        target.unwrap_or_else(|| PathAndQuery::from_static("/")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn led(location: &str) -> Result<String, NotFollowed> {
        let base = "http://host:80/mcp".parse().unwrap();
        follow(&base, &"/a/mcp?x=1".parse().unwrap(), Some(location)).map(|uri| uri.to_string())
    }

    #[test]
    fn within_the_origin() {
        assert_eq!(led("/mcp/").as_deref(), Ok("/mcp/"));
        assert_eq!(led("http://HOST/b?y=2#top").as_deref(), Ok("/b?y=2"));
        assert_eq!(led("http://host:80").as_deref(), Ok("/"));
        assert_eq!(led("other").as_deref(), Ok("/a/other"));
    }

    #[test]
    fn never_out_of_it() {
        for location in [
            "https://host/mcp",
            "http://host:8080/mcp",
            "http://evil/mcp",
            "//evil/mcp",
            "\\\\evil\\mcp",
            "/\\evil",
            "http://user@host/mcp",
            "http://host@evil/mcp",
            "javascript://host/",
            "",
        ] {
            let led = led(location);
            assert!(
                led.is_err() || led.as_deref() == Ok("/a/"),
                "{location} → {led:?}"
            );
        }
        assert!(follow(&"http://h/".parse().unwrap(), &"/".parse().unwrap(), None).is_err());
    }
}
