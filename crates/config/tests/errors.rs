//! Every error of this crate, provoked for real, as a person reads it. The
//! texts are in `errors.txt`; `SWITCHBOARD_WRITE_SNAPSHOTS=1` writes it anew.
//!
//! A variant that is added does not compile here until it is listed, and one
//! that is listed fails until something provokes it.
#![allow(clippy::unwrap_used, reason = "this is test code")]

use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};
use switchboard_config::{
    Loaded, Outcome, Places, Request, Standing,
    approval::{Store, StoreError},
    edit::{self, EditError, Target},
    explain, load,
    safe_read::{self, Distrust},
};

/// The names of all variants, from a match that leaves none out.
macro_rules! variants {
    ($of:ident, $all:ident, $type:ident { $($variant:ident),* $(,)? }) => {
        fn $of(value: &$type) -> &'static str {
            match value {
                $($type::$variant { .. } => concat!(stringify!($type), "::", stringify!($variant)),)*
            }
        }
        const $all: &[&str] = &[$(concat!(stringify!($type), "::", stringify!($variant))),*];
    };
}

variants!(
    edit_error,
    EDIT,
    EditError {
        Io,
        ReadOnly,
        LeavesProject,
        Locked,
        Changed,
        Unreadable,
        Exists,
        Missing,
    }
);
variants!(
    distrust,
    DISTRUST,
    Distrust {
        Unreadable,
        Owner,
        Writable,
        Blocked,
        NoFile
    }
);
variants!(store_error, STORE, StoreError { Unreadable, Edit });
variants!(
    standing,
    STANDING,
    Standing {
        Active,
        PendingApproval,
        Rejected,
        Disabled,
        Denied,
        Itself,
        Shadowed,
        Duplicate,
    }
);
variants!(
    outcome,
    OUTCOME,
    Outcome {
        Absent,
        Read,
        Skipped
    }
);

/// What was provoked, and how it reads.
struct Told {
    root: PathBuf,
    text: String,
    seen: BTreeSet<&'static str>,
}

impl Told {
    fn tell(&mut self, variant: &'static str, text: &str) {
        let folder = format!("{}/", self.root.display());
        let text = text.replace(&folder, "/").replace('\n', "\n  ");
        self.text += &format!("{variant}\n  {text}\n");
        self.seen.insert(variant);
    }

    fn edit(&mut self, error: &EditError) {
        self.tell(
            edit_error(error),
            &format!("{error}\nhint: {}", error.hint()),
        );
    }
}

struct World {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home/repo/.git")).unwrap();
        fs::create_dir_all(root.join("etc")).unwrap();
        Self { _dir: dir, root }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn write(&self, path: &str, text: impl ToString) -> PathBuf {
        let file = self.path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text.to_string()).unwrap();
        file
    }

    fn places(&self) -> Places {
        let home = self.path("home");
        let at = |name: &str| home.join(name).join("switchboard");
        let mut places = Places::find(
            &home.join("repo"),
            &at(".config"),
            &at(".local/share"),
            &at(".cache"),
            |name| match name {
                "HOME" => Some(home.clone().into_os_string()),
                "PATH" => Some("/usr/bin:/bin".into()),
                _ => None,
            },
        );
        places.managed = vec![self.path("etc")];
        places.managed_owner = safe_read::me();
        places
    }

    fn load(&self) -> Loaded {
        load(&Request {
            directory: self.path("home/repo"),
            places: Some(self.places()),
            ..Request::default()
        })
    }
}

fn add(file: &Path) -> EditError {
    edit::put(
        &Target::private(file),
        &["mcpServers"],
        "a",
        &json!({}),
        false,
    )
    .unwrap_err()
}

fn edits(world: &World, told: &mut Told) {
    // What the file system refuses, in each way that has its own advice.
    let file = world.write("io/file", "");
    told.edit(&add(&file.join("s.json")));
    let link = world.path("io/link.json");
    symlink("nowhere.json", &link).unwrap();
    told.edit(&add(&link));
    for kind in [
        std::io::ErrorKind::StorageFull,
        std::io::ErrorKind::PermissionDenied,
    ] {
        // A full disk, and what root cannot be refused: tests of the program have these.
        told.edit(&EditError::Io {
            file: world.path("io/s.json"),
            doing: "written",
            error: kind.into(),
        });
    }
    let file = world.write("edit/s.json", "{\n  \"mcpServers\": {\"a\": {}}\n}");
    told.edit(&add(&file));
    let target = Target::private(&file);
    told.edit(&edit::remove(&target, &["mcpServers"], "b").unwrap_err());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    told.edit(&add(&file));
    let broken = world.write("edit/broken.json", "{\n  \"mcpServers\": \n");
    told.edit(&add(&broken));
    let inside = world.path("home/repo/.mcp.json");
    symlink(&file, &inside).unwrap();
    let project = Target::project(&inside, &world.path("home/repo"));
    told.edit(&edit::put(&project, &["mcpServers"], "x", &json!({}), false).unwrap_err());
    fs::remove_file(&inside).unwrap();
    // Half a minute of waiting for another program is not for a test.
    told.edit(&EditError::Locked(world.path("edit/s.json")));
    told.edit(&EditError::Changed(world.path("edit/s.json")));
}

fn files(world: &World, told: &mut Told) {
    let mut look = |path: &Path, owner: Option<u32>| {
        let why = safe_read::read(path, owner).unwrap_err();
        let fault = why.fault(path);
        assert!(fault.hint.is_some());
        told.tell(distrust(&why), &fault.to_string());
    };
    look(&world.path("guard/none.json"), None);
    let file = world.write("guard/s.json", "{}");
    fs::write(&file, b"\xff\xfe").unwrap();
    look(&file, None);
    look(&file, Some(safe_read::me() + 1));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    look(&file, None);
    look(file.parent().unwrap(), None);
    let link = world.path("guard/link.json");
    symlink("/not-mounted/s.json", &link).unwrap();
    look(&link, None);
    look(&file.join("below.json"), None);
}

fn stores(world: &World, told: &mut Told) {
    let file = world.write("store/approvals.json", "{\n");
    let mut tell = |error: StoreError| {
        told.tell(
            store_error(&error),
            &format!("{error}\nhint: {}", error.hint()),
        );
    };
    tell(Store::read(&file).unwrap_err());
    // A file that cannot be read is not written over; one in no folder cannot be written.
    tell(Store::decide(&file, &[]).unwrap_err());
    tell(Store::decide(Path::new("/proc/nowhere/approvals.json"), &[]).unwrap_err());
}

fn standings(world: &World, told: &mut Told) {
    let settings = json!({
        "mcpServers": {"good": {"command": "x"}, "same": {"command": "user"}, "off": {"command": "x"},
            "bad": {"command": "evil"}, "us": {"command": "switchboard", "args": ["serve"]},
            "web": {"type": "http", "url": "https://x.example/mcp"}},
        "connectors": {"url": "https://c.example/"},
        "disabledMcpServers": ["off"],
        "deniedMcpServers": [{"serverCommand": ["evil"]}],
        "disabledMcpjsonServers": ["no"],
    });
    world.write(
        "home/.config/switchboard/settings.json",
        serde_json::to_string_pretty(&settings).unwrap(),
    );
    let servers = |value: Value| json!({ "mcpServers": value });
    world.write(
        "home/.claude.json",
        servers(json!({"same": {"command": "claude"}})),
    );
    world.write(
        "home/repo/.mcp.json",
        servers(json!({"open": {"command": "sh"}, "no": {"command": "sh"}})),
    );
    let listed = json!({"from": "https://c.example/",
        "mcpServers": {"wiki": {"type": "http", "url": "https://x.example/mcp"}}});
    world.write("home/.cache/switchboard/connectors.json", listed);
    world.write("home/.claude/settings.json", "{");
    let loaded = world.load();
    for server in &loaded.servers {
        let name = &server.entry.name;
        let told_so = format!("{name}: {}", explain::reason(server));
        told.tell(standing(&server.standing), &told_so);
    }
    let explained = explain::server(&loaded, "none");
    let looked = loaded.looked.iter().map(|looked| outcome(&looked.outcome));
    for (kind, step) in looked.zip(&explained.steps) {
        told.tell(kind, &format!("{} {}", step.place, step.says));
    }
}

/// The fields that an entry can have, as the reader's source has them.
fn fields() -> Vec<&'static str> {
    let source = include_str!("../src/read/fields.rs");
    let (_, arms) = source.split_once("match key {").unwrap();
    let arms = arms.lines().map(str::trim);
    let arms = arms.take_while(|line| !line.starts_with("_ ") && !line.starts_with("other "));
    let names = arms.filter(|line| line.starts_with('"'));
    let names = names.filter_map(|line| line.split("=>").next()?.split(" if ").next());
    let names = names.flat_map(|names| names.split('|'));
    names.map(|name| name.trim().trim_matches('"')).collect()
}

/// A list with a number in it is right for no field: each says so, with its
/// place and what would be right.
#[test]
fn every_field_says_what_would_be_right() {
    let fields = fields();
    assert!(
        fields.len() >= 20 && fields.contains(&"command"),
        "{fields:?}"
    );
    for field in fields {
        let text = format!("{{\"mcpServers\": {{\"s\": {{\n{field:?}: [7]}}}}}}");
        let source = switchboard_config::Source::File("/f.json".into());
        let entries = switchboard_config::read(&text, &source, switchboard_config::Scope::User);
        let faults = &entries.unwrap()[0].faults;
        let about = |fault: &&switchboard_config::Fault| {
            let named = fault.field.as_deref().unwrap_or_default();
            named == field || named == format!("{field}[0]")
        };
        let fault = faults.iter().find(about);
        let fault = fault.unwrap_or_else(|| panic!("{field}: {faults:?}"));
        assert_eq!(
            (fault.line, fault.server.as_deref()),
            (2, Some("s")),
            "{fault}"
        );
        assert!(fault.column.is_some() && fault.hint.is_some(), "{fault}");
        assert!(fault.problem.contains("must be"), "{fault}");
    }
}

#[test]
fn every_error_has_a_text_that_says_what_where_and_what_to_do() {
    let world = World::new();
    let mut told = Told {
        root: world.root.clone(),
        text: String::new(),
        seen: BTreeSet::new(),
    };
    edits(&world, &mut told);
    files(&world, &mut told);
    stores(&world, &mut told);
    standings(&world, &mut told);
    let all = [EDIT, DISTRUST, STORE, STANDING, OUTCOME].concat();
    for variant in &all {
        assert!(told.seen.contains(variant), "nothing provokes {variant}");
    }
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors.txt");
    if std::env::var_os("SWITCHBOARD_WRITE_SNAPSHOTS").is_some() {
        fs::write(&kept, &told.text).unwrap();
    }
    let kept = fs::read_to_string(kept).unwrap_or_default();
    assert_eq!(
        told.text, kept,
        "SWITCHBOARD_WRITE_SNAPSHOTS=1 writes it anew"
    );
}
