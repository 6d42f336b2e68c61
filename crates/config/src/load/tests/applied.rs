//! Settings that are in no file.

use super::super::world::{World, lines, one};
use super::super::*;
use serde_json::{Value, json};

fn document(name: &str, text: &Value) -> Document {
    Document {
        place: format!("cluster: {name}"),
        text: text.to_string(),
    }
}

#[test]
fn they_count_before_the_user_s_files_and_behind_the_administrator_s() {
    let world = World::new();
    world.write("home/.config/switchboard/settings.json", &one("a", "mine"));
    world.write("home/repo/.mcp.json", &one("b", "theirs"));
    let rules = json!({
        "mcpServers": {"a": {"command": "applied"}, "c": {"command": "denied"}},
        "deniedMcpServers": [{"serverName": "c"}],
    });
    let second = one("d", "second");
    let applied = [document("one.json", &rules), document("two.json", &second)];
    let request = |strict| Request {
        applied: Applied {
            documents: applied.to_vec().into(),
            ..Applied::default()
        },
        strict,
        ..world.request(&[])
    };
    let loaded = load(&request(false));
    assert_eq!(
        lines(&loaded),
        [
            "b project theirs PendingApproval",
            "a user mine Shadowed",
            "a user applied Active",
            "c user denied Denied",
            "d user second Active",
        ]
    );
    let entry = loaded.find("a").map(|found| found.entry.place());
    assert!(entry.is_some_and(|place| place.starts_with("cluster: one.json")));
    assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
    // Nobody has to look for a file of that name.
    let looked = loaded.looked.iter();
    assert!(
        !looked
            .into_iter()
            .any(|it| it.file.starts_with("cluster: one.json"))
    );
    // They were named, as those of the command line are.
    let strict = load(&request(true));
    assert!(strict.find("a").is_some() && strict.find("b").is_none());
    world.write("etc/managed-mcp.json", &one("only", "managed"));
    let managed = load(&request(false));
    assert!(matches!(
        managed.find("d").map(|found| &found.standing),
        Some(Standing::Denied(_))
    ));
}

#[test]
fn what_is_wrong_with_them_is_said_before_anybody_goes_by_them() {
    let good = document("a.json", &one("a", "b"));
    assert_eq!(faults_of(&[good]), []);
    for (text, says) in [
        ("{", "not JSON"),
        (r#"{"mcpServers": {"a": {"command": 5}}}"#, "command"),
        (r#"{"permissions": {"deny": 5}}"#, "deny"),
        (r#"{"deniedMcpServers": 5}"#, "deniedMcpServers"),
        (r#"{"observe": {"metrics": true}}"#, "`observe` cannot be"),
        (r#"{"approvals": {"notify": true}}"#, "`approvals.notify`"),
    ] {
        let bad = Document {
            place: "cluster: bad.json".into(),
            text: text.into(),
        };
        let faults = faults_of(&[bad]);
        let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(
            texts.iter().any(|text| text.contains(says)),
            "{text}: {texts:?}"
        );
        assert!(texts[0].contains("cluster: bad.json"), "{texts:?}");
    }
}

#[test]
fn what_is_approved_for_all_is_bound_to_what_it_would_run() {
    use crate::approval::{Binding, Store};
    let world = World::new();
    let entry = json!({"mcpServers": {"b": {"command": "sh", "args": ["REPO/run.sh"]}}});
    world.write("home/repo/.mcp.json", &entry);
    world.write("home/repo/run.sh", &json!("one"));
    let binding = |loaded: &Loaded| {
        let entry = &loaded.find("b").unwrap().entry;
        Binding::of(entry, &world.places)
    };
    let approved = binding(&world.load());
    let standing = |approvals: &[Binding]| {
        let request = Request {
            applied: Applied {
                approvals: approvals.to_vec().into(),
                ..Applied::default()
            },
            ..world.request(&[])
        };
        let loaded = load(&request);
        // Nothing of it is kept as this user's own word.
        assert!(loaded.pins.is_empty());
        let server = loaded.find("b").unwrap();
        let bound = server.entry.bound.is_some();
        (
            server.standing.clone(),
            server.because.clone().unwrap_or_default(),
            bound,
        )
    };
    assert_eq!(standing(&[]).0, Standing::PendingApproval);
    let (active, because, bound) = standing(std::slice::from_ref(&approved));
    assert_eq!(active, Standing::Active);
    assert!(because.contains("for all replicas") && bound, "{because}");
    // The same entry elsewhere, of another name, or with another program, is another.
    for other in [
        Binding {
            directory: world.path("home"),
            ..approved.clone()
        },
        Binding {
            name: "c".into(),
            ..approved.clone()
        },
        Binding {
            program: Some("/bin/other".into()),
            ..approved.clone()
        },
        Binding {
            entry: json!({"command": "sh"}),
            ..approved.clone()
        },
    ] {
        assert_eq!(standing(&[other]).0, Standing::PendingApproval);
    }
    // A file of it that changed.
    world.write("home/repo/run.sh", &json!("two"));
    let (pending, because, _) = standing(std::slice::from_ref(&approved));
    assert_eq!(pending, Standing::PendingApproval);
    assert!(because.contains("run.sh"), "{because}");
    // Not even a list of the user's, which is about what nobody has looked at.
    world.write(
        "home/.config/switchboard/settings.json",
        &json!({"enableAllProjectMcpServers": true}),
    );
    assert_eq!(
        standing(std::slice::from_ref(&approved)).0,
        Standing::PendingApproval
    );
    world.write("home/.config/switchboard/settings.json", &json!({}));
    world.write("home/repo/run.sh", &json!("one"));
    assert_eq!(
        standing(std::slice::from_ref(&approved)).0,
        Standing::Active
    );
    // A no on this machine counts here, and so does one that cannot be read.
    let store = world.places.approvals();
    Store::decide(&store, &[(approved.clone(), false)]).unwrap();
    assert_eq!(
        standing(std::slice::from_ref(&approved)).0,
        Standing::Rejected
    );
    std::fs::write(&store, "{").unwrap();
    assert_eq!(standing(&[approved]).0, Standing::PendingApproval);
}
