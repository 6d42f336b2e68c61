//! What the program itself says is not taken for a secret.

use super::Asker;
use serde_json::json;
use switchboard_testkit::world::World;

#[tokio::test]
async fn examples_in_our_descriptions_and_hashes_of_the_audit_are_shown() {
    let world = World::repository();
    world.write_settings(&json!({
        "mcpServers": {},
        "observe": {"audit": {"sync": "each", "arguments": true}},
    }));
    let gateway = world.launch(&["up", "--plain", "--port", "0"]).spawn();
    let asker = Asker::control(&world, &gateway).await;
    let listed = asker.get("servers/memory/tools").await;
    let items = listed["items"].as_array().unwrap().iter();
    let mut forget = items.filter(|item| item["name"] == "forget");
    let told = forget.next().expect("the tool")["description"].to_string();
    assert!(told.contains("release-day"), "{told}");
    let tools = asker.get("tools").await.to_string();
    assert!(tools.contains("release-day"), "{tools}");

    // A secret among arguments stays one, in the same record.
    let arguments = json!({"text": "a note", "key": "plumbago-7f3a9c21b0"});
    asker
        .post(
            "calls",
            json!({"server": "memory", "name": "remember", "arguments": arguments, "confirmed": true}),
        )
        .await;
    let audit = asker.get("audit").await;
    let records = audit["records"].as_array().unwrap();
    assert!(!records.is_empty());
    for record in records {
        let prev = record["prev"].as_str().unwrap();
        assert!(
            prev.len() == 64 && prev.bytes().all(|b| b.is_ascii_hexdigit()),
            "{record}"
        );
        assert!(!record.to_string().contains("plumbago"), "{record}");
    }
}
