//! How long a list may be taken for what it is: what its server says (`ttlMs`,
//! `cacheScope`), and what that comes to over all servers.

use super::{Catalog, List};
use crate::{client::Client, host::Host, limits, upstream::Server};
use std::time::Duration;
use switchboard_wire::{Era, Method, json};
use tokio::time::Instant;

/// How long a list is good for, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// For how long from now; nothing where whoever has it is told of changes.
    pub remaining: Option<Duration>,
    /// Whether it may be shown to others than whoever asked.
    pub public: bool,
}

/// What a server says about a list that it just sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    /// When it is to be asked for anew; nothing where the server tells of changes.
    pub(super) stale: Option<Instant>,
    public: bool,
}

impl Default for Said {
    /// A list that cannot be different: the server has none.
    fn default() -> Self {
        Self {
            stale: None,
            public: true,
        }
    }
}

impl Said {
    /// What the fields of one page say, together with those before. A page of
    /// the modern era that says nothing is stale at once, and nobody else's.
    pub(super) fn and(self, body: &[u8], era: Era, now: Instant) -> Self {
        if era == Era::Legacy {
            return Self {
                stale: None,
                public: false,
            };
        }
        let [ttl, scope] = json::fields(body, ["ttlMs", "cacheScope"]).unwrap_or_default();
        let ttl = ttl.and_then(|span| std::str::from_utf8(span.of(body)).ok()?.parse::<u64>().ok());
        let ttl = Duration::from_millis(ttl.unwrap_or(0)).min(limits::LIST_TTL);
        let stale = now + ttl;
        Self {
            stale: Some(self.stale.map_or(stale, |before| before.min(stale))),
            public: self.public && scope.is_some_and(|span| span.of(body) == b"\"public\""),
        }
    }

    pub(super) fn is_stale(&self) -> bool {
        self.stale.is_some_and(|stale| stale <= Instant::now())
    }

    fn at(&self, now: Instant) -> Freshness {
        let left = |stale: Instant| stale.saturating_duration_since(now);
        Freshness {
            remaining: self.stale.map(left),
            public: self.public,
        }
    }
}

impl Said {
    /// What this server said of a list, as it holds now: good for nothing, and for nobody
    /// else, where it said nothing that can be relied on.
    fn of(server: &Server, client: &Client, list: List) -> Self {
        let nothing = Self {
            stale: Some(Instant::now()),
            public: false,
        };
        let era = server.era_for(client);
        // One that is being connected, or could not be, may be another in a moment.
        let (Some(said), Some(hello)) = (
            server.catalogs(client).of(era).said(list),
            server.hello(client),
        ) else {
            return nothing;
        };
        let tells = || match list.change() {
            Method::ToolsListChanged => hello.has("tools", "listChanged"),
            Method::PromptsListChanged => hello.has("prompts", "listChanged"),
            _ => hello.has("resources", "listChanged"),
        };
        let empty = !hello.declares(list.method().needs_capability().unwrap_or_default());
        if said.stale.is_none() && !empty && !tells() {
            return nothing;
        }
        said
    }

    /// Of two lists together.
    fn with(self, other: Self) -> Self {
        let stale = match (self.stale, other.stale) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self {
            stale,
            public: self.public && other.public,
        }
    }

    /// How long a merged list is good for: as long as the part of it that is
    /// good for the shortest time. For one principal alone if any part is, or if
    /// not all principals see the same.
    pub(crate) fn of_all(host: &Host, client: &Client, list: List) -> Self {
        let all = Self {
            stale: None,
            public: !host.guard().rules().differ_by_principal(),
        };
        let servers = host.servers();
        let reached = servers
            .iter()
            .filter(|server| host.guard().reaches(client, server));
        reached.fold(all, |all, server| all.with(Self::of(server, client, list)))
    }

    /// For how long that is, from now on.
    pub(crate) fn now(&self) -> Freshness {
        self.at(Instant::now())
    }
}

impl Catalog {
    /// What its server said about a list, if it was asked in this run.
    fn said(&self, list: List) -> Option<Said> {
        let cell = self.cells[list as usize].lock();
        cell.current.get().map(|listing| listing.said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Good for nothing, and for nobody else.
    const NONE: Freshness = Freshness {
        remaining: Some(Duration::ZERO),
        public: false,
    };

    fn said(pages: &[&str]) -> Freshness {
        let now = Instant::now();
        let said = pages.iter().fold(Said::default(), |said, page| {
            said.and(page.as_bytes(), Era::Modern, now)
        });
        said.at(now)
    }

    #[test]
    fn the_strictest_page_counts() {
        let hour = Some(Duration::from_secs(3600));
        let page = r#"{"ttlMs":3600000,"cacheScope":"public"}"#;
        assert_eq!(
            said(&[page]),
            Freshness {
                remaining: hour,
                public: true
            }
        );
        let second = said(&[page, r#"{"ttlMs":1000,"cacheScope":"private"}"#]);
        assert_eq!(second.remaining, Some(Duration::from_secs(1)));
        assert!(!second.public);
        // What is missing, or makes no sense, is as strict as can be.
        for odd in [
            "{}",
            r#"{"ttlMs":-1,"cacheScope":"all"}"#,
            r#"{"ttlMs":"5","ttlMs":5}"#,
        ] {
            assert_eq!(said(&[page, odd]), NONE, "{odd}");
        }
        let for_ever = said(&[r#"{"ttlMs":18446744073709551615,"cacheScope":"public"}"#]);
        assert_eq!(for_ever.remaining, Some(limits::LIST_TTL));
    }

    #[test]
    fn together_they_are_as_good_as_the_worst() {
        let now = Instant::now();
        let until = |stale| Said {
            stale,
            public: true,
        };
        let told = until(None);
        let brief = until(Some(now + Duration::from_secs(1)));
        let nothing = Said {
            stale: Some(now),
            public: false,
        };
        assert_eq!(told.with(brief).at(now), brief.at(now));
        assert_eq!(brief.with(told).at(now), brief.at(now));
        assert_eq!(brief.with(nothing).at(now), NONE);
    }
}
