//! What a server has more of after somebody signed in is no surprise.

use serde_json::{Value, json};
use std::fs;
use switchboard_testkit::oauth::Site;
use switchboard_testkit::world::{World, protected};

#[tokio::test]
async fn what_is_new_after_a_sign_in_is_not_held() {
    let site = Site::start().await;
    let mut entry = protected(&site, "/mcp");
    entry["pins"] = json!("hold");
    let person = World::person_with(&json!({"docs": entry}));
    // Nobody is signed in: what stands in for the server is nothing of its own.
    person.run(&["list"]).await.ok();
    let folder = person.path("home/.local/share/switchboard/pins");
    assert_eq!(super::json_files(&folder).len(), 0);
    person.sign_in("docs").await.ok();
    person.run(&["call", "docs__t"]).await.ok();
    let file = super::json_files(&folder).remove(0);
    let whole = fs::read_to_string(&file).unwrap();
    // As if it had shown less until now.
    let mut less: Value = serde_json::from_str(&whole).unwrap();
    less["tools"] = json!({});
    let less = less.to_string();
    fs::write(&file, &less).unwrap();
    let ran = person.run(&["call", "docs__t"]).await;
    assert_eq!(ran.code, Some(5), "{ran:?}");
    fs::write(&file, &less).unwrap();
    person.sign_in("docs").await.ok();
    let ran = person.run(&["call", "docs__t"]).await.ok();
    assert_eq!(ran.out, "let in\n");
    let ran = person.run(&["list"]).await.ok();
    assert!(!ran.out.contains("approve"), "{ran:?}");
}
