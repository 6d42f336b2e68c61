//! Files inside the program and files of a folder are the same files.

use super::*;

fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("web")
}

#[test]
fn a_folder_has_what_the_program_has() {
    let (inside, on_disk) = (Assets::inside(), Assets::of_folder(web()));
    assert!(FILES.iter().any(|file| file.path == "/"), "no page");
    for file in FILES {
        let packed = inside.find(file.path, true).expect(file.path);
        let plain = inside.find(file.path, false).expect(file.path);
        let read = on_disk.find(file.path, true).expect(file.path);
        assert!(packed.gzipped && !plain.gzipped && !read.gzipped);
        assert_eq!(plain.bytes, read.bytes, "{}", file.path);
        assert_eq!((&plain.tag, &plain.policy), (&read.tag, &read.policy));
        assert_eq!(plain.kind, read.kind);
    }
}

#[test]
fn nothing_outside_of_the_folder_is_served() {
    let assets = Assets::of_folder(web());
    for path in [
        "/../Cargo.toml",
        "//etc/passwd",
        "/console/../../build.rs",
        "",
        "/console",
        "/nothing.js",
    ] {
        assert!(assets.find(path, true).is_none(), "{path}");
        assert!(Assets::inside().find(path, true).is_none(), "{path}");
    }
}

#[test]
fn the_policy_has_the_hash_of_the_import_map_alone() {
    let page = Assets::inside().find("/", false).expect("the page");
    let text = String::from_utf8(page.bytes.into_owned()).expect("text");
    assert!(policy::import_map(&text).contains("\"imports\""));
    assert_eq!(page.policy.matches("'sha256-").count(), 1);
    assert!(!page.policy.contains("unsafe"), "{}", page.policy);
    assert!(page.policy.starts_with("default-src 'none'; "));
}
