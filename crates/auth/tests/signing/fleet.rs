//! Sign-ins that several machines share: what is shown of a refresh token, and when, where
//! something goes wrong in between.

use super::{
    peer::{ask, served},
    site::{Site, browser, counted_browser, settings},
    xaa,
};
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use switchboard_auth::{
    Authority, Awaited, Fleet, FleetError, FleetWay, Grant, TokenStore, Turn, Vault, VaultKey,
    Versioned,
};
use zeroize::Zeroizing;

const LATE: Duration = Duration::from_secs(60);

/// Where machines keep sign-ins, in memory.
#[derive(Debug, Default)]
struct Place {
    kept: Mutex<HashMap<String, (Vec<u8>, u64)>>,
    next: AtomicU64,
    /// Nothing can be read.
    unread: AtomicBool,
    /// How often something can still be kept, and what is said afterwards.
    saves: Mutex<Option<(usize, FleetError)>>,
}

#[derive(Debug)]
struct Good;

impl Turn for Good {
    fn is_good(&self) -> bool {
        true
    }
}

/// One machine's way there.
#[derive(Debug)]
struct Way(Arc<Place>);

impl Way {
    fn found(&self, place: &str) -> Option<Versioned> {
        let kept = self.0.kept.lock().unwrap();
        let (text, version) = kept.get(place)?;
        Some((Zeroizing::new(text.clone()), *version))
    }
}

impl Fleet for Way {
    fn load(&self, place: &str) -> Awaited<Option<Versioned>> {
        let found = match self.0.unread.load(Ordering::SeqCst) {
            true => Err(FleetError::Store("away".into())),
            false => Ok(self.found(place)),
        };
        Box::pin(async move { found })
    }

    fn heard(&self, place: &str) -> Option<Result<Option<Versioned>, FleetError>> {
        Some(Ok(self.found(place)))
    }

    fn version(&self, place: &str) -> Option<u64> {
        self.found(place).map(|(_, version)| version)
    }

    fn save(&self, place: &str, text: Option<Zeroizing<Vec<u8>>>) -> Awaited<u64> {
        let mut saves = self.0.saves.lock().unwrap();
        if let Some((left, why)) = &mut *saves {
            if *left == 0 {
                let why = why.clone();
                return Box::pin(async move { Err(why) });
            }
            *left -= 1;
        }
        let version = self.0.next.fetch_add(1, Ordering::SeqCst) + 1;
        let mut kept = self.0.kept.lock().unwrap();
        match text {
            Some(text) => drop(kept.insert(place.to_owned(), (text.to_vec(), version))),
            None => drop(kept.remove(place)),
        }
        Box::pin(async move { Ok(version) })
    }

    fn turn(&self, _: &str, _: Duration) -> Awaited<Box<dyn Turn>> {
        Box::pin(async { Ok(Box::new(Good) as Box<dyn Turn>) })
    }
}

impl Place {
    fn vault(self: &Arc<Self>, site: &Site) -> Vault {
        let way = FleetWay::default();
        way.set(Arc::new(Way(self.clone())));
        Vault::open(site.folder.path(), TokenStore::File).shared(way)
    }

    /// A machine.
    fn machine(self: &Arc<Self>, site: &Site) -> Authority {
        Authority::builder(site.server("main", "/mcp"), self.vault(site))
            .limits(super::site::quick())
            .settings(settings())
            .build()
    }

    /// The access token has ended.
    async fn expire(self: &Arc<Self>, site: &Site) {
        let (vault, key) = (self.vault(site), VaultKey::server("main", "hash"));
        let lock = vault.lock(&key, LATE).await.unwrap();
        let mut record = vault.load(&key).await.unwrap().unwrap();
        record.tokens.as_mut().unwrap().expires_at = Some(1);
        vault.save(&key, &record).await.unwrap();
        drop(lock);
    }

    fn saves(&self, left: Option<(usize, FleetError)>) {
        *self.saves.lock().unwrap() = left;
    }
}

async fn shown(site: &Site) -> u64 {
    assert_eq!(site.count("reuse").await, 0, "none is shown twice");
    site.count("token.refresh_token").await
}

/// If what is there cannot be read under our turn, an older one could be shown again.
#[tokio::test]
async fn what_cannot_be_read_is_not_shown() {
    let (site, place) = (Site::start().await, Arc::new(Place::default()));
    let url = site.url("/mcp");
    let one = place.machine(&site);
    one.sign_in(&browser()).await.unwrap();
    assert!(served(&ask(&one, &url).await));
    place.unread.store(true, Ordering::SeqCst);
    // What is good is used all the same, also by one that has not used it before.
    assert!(served(&ask(&one, &url).await));
    assert!(served(&ask(&place.machine(&site), &url).await));
    place.unread.store(false, Ordering::SeqCst);
    place.expire(&site).await;
    place.unread.store(true, Ordering::SeqCst);
    assert!(ask(&one, &url).await.is_err());
    assert_eq!(shown(&site).await, 0);
    place.unread.store(false, Ordering::SeqCst);
    assert!(served(&ask(&one, &url).await));
    assert_eq!(shown(&site).await, 1);
}

/// Where what was renewed cannot be kept, it is used, and kept as soon as that is possible:
/// nobody shows the one before it again.
#[tokio::test]
async fn what_was_renewed_is_kept_later_where_it_cannot_be_at_once() {
    let (site, place) = (Site::start().await, Arc::new(Place::default()));
    let url = site.url("/mcp");
    let one = place.machine(&site);
    one.sign_in(&browser()).await.unwrap();
    place.expire(&site).await;
    place.saves(Some((1, FleetError::Store("away".into()))));
    for _ in 0..3 {
        assert!(served(&ask(&one, &url).await));
        assert_eq!(shown(&site).await, 1);
    }
    place.saves(None);
    let begun = Instant::now();
    let other = place.machine(&site);
    while !served(&ask(&other, &url).await) {
        assert!(begun.elapsed() < LATE, "it is never kept");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(shown(&site).await, 1);
}

/// One that is killed after it has shown it says nothing any more.
#[tokio::test]
async fn what_somebody_began_to_show_is_left_alone() {
    let (site, place) = (Site::start().await, Arc::new(Place::default()));
    let url = site.url("/mcp");
    place.machine(&site).sign_in(&browser()).await.unwrap();
    place.expire(&site).await;
    place.saves(Some((1, FleetError::Overtaken)));
    let _ = ask(&place.machine(&site), &url).await;
    assert_eq!(shown(&site).await, 1);
    place.saves(None);
    let said = ask(&place.machine(&site), &url).await.unwrap_err();
    let said = format!("{said:?}");
    assert!(said.contains("a new sign-in helps at once"), "{said}");
    assert_eq!(shown(&site).await, 1);
    // And it does.
    place.machine(&site).sign_in(&browser()).await.unwrap();
    assert!(served(&ask(&place.machine(&site), &url).await));
}

/// The same of an identity that many servers use.
#[tokio::test]
async fn an_identity_that_somebody_began_to_renew_is_left_alone() {
    let (site, place) = (xaa::site().await, Arc::new(Place::default()));
    // Good for one exchange, but not for long.
    site.turn(json!({"id_life": 30})).await;
    let machine = |n: usize| {
        let server = site.server(&format!("s{n}"), &format!("/mcp/s{n}"));
        let grant: Grant = xaa::enterprise(&site);
        let built = Authority::builder(server, place.vault(&site)).settings(settings());
        built.grant(grant).limits(super::site::quick()).build()
    };
    let (visit, _) = counted_browser();
    machine(0).sign_in(&visit).await.unwrap();
    place.saves(Some((1, FleetError::Overtaken)));
    let said = ask(&machine(1), &site.url("/mcp/s1")).await;
    assert!(!served(&said));
    assert_eq!(site.count("idp.refresh_token").await, 1);
    place.saves(None);
    assert!(!served(&ask(&machine(2), &site.url("/mcp/s2")).await));
    assert_eq!(site.count("idp.refresh_token").await, 1);
}
