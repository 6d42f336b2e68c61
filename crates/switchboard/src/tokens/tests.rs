use super::*;
use std::{fs, os::unix::fs::PermissionsExt, thread};

fn dirs(home: &Path) -> Dirs {
    let home = home.to_owned();
    Dirs::find(move |name| (name == "HOME").then(|| home.clone())).unwrap()
}

#[test]
fn a_token_is_made_once_and_private() {
    let home = tempfile::tempdir().unwrap();
    let dirs = dirs(home.path());
    let first = client(&dirs).unwrap();
    assert_eq!((&*first.name, first.secret.len()), ("default", 43));
    assert_eq!(client(&dirs).unwrap().secret, first.secret);
    assert_ne!(control(&dirs).unwrap(), first.secret);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dirs.data.join("tokens/default")), 0o600);
    assert_eq!(mode(&dirs.data.join("tokens")), 0o700);
}

#[test]
fn many_at_once_agree() {
    let home = tempfile::tempdir().unwrap();
    let dirs = dirs(home.path());
    let threads: Vec<_> = (0..16)
        .map(|_| {
            let dirs = dirs.clone();
            thread::spawn(move || client(&dirs).unwrap().secret)
        })
        .collect();
    let mut tokens: Vec<String> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    tokens.dedup();
    assert_eq!(tokens.len(), 1);
    assert_eq!(
        fs::read_dir(dirs.data.join("tokens")).unwrap().count(),
        1,
        "nothing is left behind"
    );
}

#[test]
fn exposed_empty_and_short_files_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("team.token");
    let write = |text: &str, mode: u32| {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    write("0123456789abcdef\n", 0o644);
    assert!(matches!(from_file(&path), Err(TokenError::Exposed(_))));
    write("0123456789abcdef\n", 0o600);
    let token = from_file(&path).unwrap();
    assert_eq!(
        (&*token.name, token.secret.as_str()),
        ("team", "0123456789abcdef")
    );
    for bad in ["", "short", "two words but long enough"] {
        write(bad, 0o600);
        assert!(
            matches!(from_file(&path), Err(TokenError::Unusable(_))),
            "{bad:?}"
        );
    }
    assert!(from_file(&home.path().join("none")).is_err());
}

#[test]
fn tokens_come_and_go_while_somebody_looks() {
    let home = tempfile::tempdir().unwrap();
    let dirs = dirs(home.path());
    let live = live(&dirs);
    let names = || -> Vec<String> {
        live.current()
            .iter()
            .map(|token| token.name.to_string())
            .collect()
    };
    assert!(names().is_empty());
    // As fast as can be: no change may go unseen.
    for round in 0..50 {
        let name = format!("t{round}");
        let token = create(&dirs, &name).unwrap();
        assert_eq!(live.current()[0].secret, token.secret);
        assert!(matches!(create(&dirs, &name), Err(TokenError::Exists(_))));
        revoke(&dirs, &name).unwrap();
        assert!(names().is_empty(), "{round}");
    }
    assert!(matches!(revoke(&dirs, "t1"), Err(TokenError::Unknown(_))));
    for bad in ["", "../x", "a b", ".hidden"] {
        assert!(
            matches!(create(&dirs, bad), Err(TokenError::Name(_))),
            "{bad:?}"
        );
    }
}

#[test]
fn two_files_are_two_principals() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path.display().to_string()
    };
    let x = write("x/token", "0123456789abcdef");
    let y = write("y/token.txt", "abcdef0123456789");
    let again = write("again", "0123456789abcdef");
    let odd = write("oidc:carol", "cdef0123456789ab");
    let read = |files: &[&str]| {
        let files: Vec<TokenFile> = files.iter().map(|file| file.parse().unwrap()).collect();
        let tokens = from_files(home.path(), &files)?;
        let names = tokens.iter().map(|token| token.name.to_string());
        Ok::<Vec<String>, TokenError>(names.collect())
    };
    let (alice, bob) = (format!("alice={x}"), format!("bob={y}"));
    assert_eq!(read(&[&alice, &bob]).unwrap(), ["alice", "bob"]);
    assert_eq!(read(&[&x, &bob]).unwrap(), ["token", "bob"]);
    for twins in [[&x, &y], [&alice, &format!("alice={y}")], [&x, &again]] {
        let fault = read(&twins.map(String::as_str)).unwrap_err();
        assert!(matches!(fault, TokenError::Same { .. }), "{fault}");
        let (text, hint) = (fault.to_string(), fault.hint());
        let path = |file: &str| file.trim_start_matches("alice=").to_owned();
        for part in [path(twins[0]), path(twins[1])] {
            assert!(text.contains(&part), "{text}");
        }
        assert!(hint.contains("--token-file alice=FILE"), "{hint}");
    }
    assert!(matches!(read(&[&odd]), Err(TokenError::Name(_))));
    assert!("no name=file".parse::<TokenFile>().is_err());
    let plain: TokenFile = "./a=b".parse().unwrap();
    assert_eq!(plain.name, None);
}
