//! What a build without most features says: `cargo xtask features` runs this.

use crate::{Config, Member, Options, Purpose, Status, Variables};
use switchboard_model::{
    Validators, Verdict,
    shape::{Origin, Shaper},
};

fn members(configuration: &str) -> Vec<Member> {
    let mut options = Options::new(std::env::temp_dir(), Variables::default());
    options.mcp_config = vec![configuration.to_owned()];
    let approved = Config::load(&options)
        .expect("it can be read")
        .approve(&options.approvals());
    let governed = approved.govern(None, Purpose::Agent).expect("rules");
    governed.members().to_vec()
}

/// An agent and its host need a runtime, whatever they are asked.
#[tokio::test]
async fn an_entry_that_needs_what_is_absent_says_so() {
    let members = members(
        r#"{"mcpServers": {
            "program": {"command": "true"},
            "web": {"type": "http", "url": "https://example.com/mcp"},
            "socket": {"type": "ws", "url": "wss://example.com/mcp"},
            "ours": {"type": "builtin", "builtin": "system"}
        }}"#,
    );
    let said = |name: &str| {
        let member = members.iter().find(|member| member.entry.name == name);
        match &member.expect("a member").status {
            Status::Server(_) => String::new(),
            Status::Faulty(faults) => faults[0].to_string(),
            Status::Unused(standing) => format!("{standing:?}"),
        }
    };
    assert_eq!(said("program"), "");
    for (name, feature) in [("web", "http"), ("socket", "http"), ("ours", "builtin")] {
        let expected = format!("this build has no `{feature}`");
        assert!(said(name).contains(&expected), "{name}: {}", said(name));
    }
}

#[tokio::test]
async fn what_is_not_checked_is_said_to_be_unchecked() {
    let verdict = Validators::default().check(b"{}", b"{}").await;
    let expected = "this build has no `validate`";
    assert!(matches!(verdict, Verdict::Unchecked(why) if why == expected));
}

#[test]
fn an_image_that_cannot_be_decoded_is_said_to_be_there() {
    let origin = Origin {
        server: "s",
        tool: "t",
        max_chars: None,
    };
    let result = br#"{"content": [{"type": "image", "mimeType": "image/png", "data": "AAAA"}]}"#;
    let shaped = Shaper::default().shape(&origin, result).expect("a result");
    let text = shaped.to_text();
    assert!(text.contains("this build has no `images`"), "{text}");
}
