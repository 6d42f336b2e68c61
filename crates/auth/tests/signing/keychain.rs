//! The keychain: locked, absent, hung, small; and the file instead of it.

use super::{
    peer::{ask, served},
    site::{Site, browser, counted_browser},
};
use std::{
    os::unix::fs::PermissionsExt,
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, Instant},
};
use switchboard_auth::{
    Authority, KeyKeeper, Keychain, KeychainError, Record, SignInError, TokenStore, Vault,
    VaultError, VaultKey,
};
use switchboard_testkit::LATE;

/// A keychain in memory; takes what fits into a small one.
#[derive(Default)]
struct Memory(Mutex<Option<Vec<u8>>>);

impl KeyKeeper for Memory {
    fn get(&self) -> Result<Option<Vec<u8>>, KeychainError> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn set(&self, key: &[u8]) -> Result<(), KeychainError> {
        assert!(key.len() <= 64, "trap 14: some keychains are small");
        *self.0.lock().unwrap() = Some(key.to_vec());
        Ok(())
    }
}

struct Locked;

impl KeyKeeper for Locked {
    fn get(&self) -> Result<Option<Vec<u8>>, KeychainError> {
        Err(KeychainError::Other("it is locked".into()))
    }

    fn set(&self, _: &[u8]) -> Result<(), KeychainError> {
        Err(KeychainError::Other("it is locked".into()))
    }
}

struct Hung;

impl KeyKeeper for Hung {
    fn get(&self) -> Result<Option<Vec<u8>>, KeychainError> {
        std::thread::sleep(Duration::from_secs(3600));
        Ok(None)
    }

    fn set(&self, _: &[u8]) -> Result<(), KeychainError> {
        Ok(())
    }
}

fn vault(site: &Site, keychain: Keychain) -> Vault {
    Vault::with_keychain(site.folder.path(), TokenStore::Keychain, keychain)
}

fn files(site: &Site) -> Vec<(String, Vec<u8>)> {
    std::fs::read_dir(site.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), std::fs::read(path).unwrap()))
        .collect()
}

#[tokio::test]
async fn sealed_files_and_a_key_in_the_keychain() {
    let site = Site::start().await;
    let keeper = Arc::new(Memory::default());
    let authority = |keeper: &Arc<Memory>| {
        Authority::builder(
            site.server("main", "/mcp"),
            vault(&site, Keychain::new(keeper.clone())),
        )
        .build()
    };
    authority(&keeper).sign_in(&browser()).await.unwrap();
    // Another process, the same keychain.
    assert!(served(&ask(&authority(&keeper), &site.url("/mcp")).await));
    assert_eq!(keeper.0.lock().unwrap().as_ref().unwrap().len(), 32);
    for (path, bytes) in files(&site) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            !text.contains("access-") && !text.contains("refresh-"),
            "{path}"
        );
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{path}");
    }
    // Another keychain cannot open them, and says so.
    let other = Arc::new(Memory::default());
    other.set(&[7; 32]).unwrap();
    let fault = authority(&other).status().await.unwrap_err();
    assert!(
        matches!(fault, SignInError::Vault(VaultError::File { .. })),
        "{fault}"
    );
}

#[tokio::test]
async fn fault_72_locked_absent_or_hung() {
    let site = Site::start().await;
    let hung = Keychain::new(Arc::new(Hung)).patient(Duration::from_millis(300));
    for keychain in [Keychain::new(Arc::new(Locked)), hung, Keychain::system()] {
        let (visit, opened) = counted_browser();
        let begun = Instant::now();
        let authority =
            Authority::builder(site.server("main", "/mcp"), vault(&site, keychain)).build();
        let signed = authority.sign_in(&visit).await;
        if signed.is_ok() {
            // A machine with a working keychain.
            continue;
        }
        let fault = signed.unwrap_err();
        assert!(
            begun.elapsed() < Duration::from_secs(6) + LATE,
            "{:?}",
            begun.elapsed()
        );
        assert!(
            matches!(fault, SignInError::Vault(VaultError::Keychain(_))),
            "{fault}"
        );
        assert!(fault.to_string().contains("--token-store file"), "{fault}");
        // Nobody was sent anywhere, and nothing was put into a file instead.
        assert_eq!(opened.load(Ordering::SeqCst), 0);
        assert!(files(&site).iter().all(|(path, _)| path.ends_with(".lock")));
    }
}

#[tokio::test]
async fn the_file_is_a_choice_that_lasts() {
    let site = Site::start().await;
    site.signed_in().await;
    // Without saying so again, and with a keychain that does not work.
    let vault = vault(&site, Keychain::new(Arc::new(Locked)));
    let authority = Authority::builder(site.server("main", "/mcp"), vault).build();
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
    super::site::make_expired(site.folder.path());
    authority.reload();
    assert!(served(&ask(&authority, &site.url("/mcp")).await));
}

#[tokio::test]
async fn going_back_to_the_keychain_removes_the_file() {
    let site = Site::start().await;
    site.signed_in().await;
    let keychain = Keychain::new(Arc::new(Memory::default()));
    let authority = Authority::builder(site.server("main", "/mcp"), vault(&site, keychain)).build();
    authority.sign_in(&browser()).await.unwrap();
    let names: Vec<String> = files(&site).into_iter().map(|(path, _)| path).collect();
    assert!(names.iter().any(|name| name.ends_with(".sealed")));
    assert!(!names.iter().any(|name| name.ends_with(".json")));
}

#[tokio::test]
async fn a_file_that_others_can_read_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::open(folder.path().join("new"), TokenStore::File);
    let key = VaultKey::server("a/../b", "hash");
    vault.save(&key, &Record::default()).await.unwrap();
    let path = std::fs::read_dir(folder.path().join("new"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let parent = std::fs::metadata(path.parent().unwrap()).unwrap();
    assert_eq!(parent.permissions().mode() & 0o777, 0o700);
    assert!(vault.load(&key).await.unwrap().is_some());
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let fault = vault.load(&key).await.unwrap_err();
    assert!(fault.to_string().contains("chmod 600"), "{fault}");
}

#[tokio::test]
async fn a_broken_file_is_said_without_its_content() {
    let site = Site::start().await;
    let authority = site.signed_in().await;
    let (path, _) = files(&site)
        .into_iter()
        .find(|(path, _)| path.ends_with(".json"))
        .unwrap();
    std::fs::write(&path, "{\"tokens\": {\"access\": \"canary-x\", oops").unwrap();
    authority.reload();
    let fault = authority.status().await.unwrap_err().to_string();
    assert!(!fault.contains("canary"), "{fault}");
    assert!(fault.contains("sign in again"));
    // Signing out gets rid of it.
    assert!(authority.sign_out().await.unwrap().existed);
    assert!(authority.status().await.unwrap().is_none());
}
