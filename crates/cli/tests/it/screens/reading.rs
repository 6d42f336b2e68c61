//! `resources`, `read`, `prompts`, `prompt`, and results as a model gets them.

use serde_json::{Value, json};
use switchboard_testkit::world::{config, echo, run, run_with, switchboard};

#[tokio::test]
async fn resources_are_listed_with_their_addresses() {
    let servers = json!({"e": echo(&[]), "m": echo(&["--era", "modern"])});
    let ran = run_with(&servers, &["resources", "--json"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let rows = ran.json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 12, "five and a template, twice: {ran:?}");
    assert_eq!(rows[0]["address"], "@e:echo://1");
    assert_eq!(rows[0]["mimeType"], "text/plain");
    assert!(
        rows.iter()
            .any(|row| row["template"] == true && row["server"] == "m")
    );
    let ran = run_with(&servers, &["resources", "--server", "m"]).await;
    assert!(
        ran.out.contains("@m:echo://1") && !ran.out.contains("@e:"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_resource_is_read_by_either_name() {
    let one = json!({"e": echo(&[])});
    let plain = run_with(&one, &["read", "echo://3"]).await;
    assert_eq!(plain.code, Some(0), "{plain:?}");
    assert!(!plain.out.is_empty(), "{plain:?}");
    let whole = run_with(&one, &["read", "@e:echo://3", "--json"]).await;
    let result = whole.json();
    assert_eq!(result["contents"][0]["uri"], "echo://3", "{whole:?}");
    assert_eq!(result["contents"][0]["text"], plain.out.as_str());

    let two = json!({"e": echo(&[]), "m": echo(&["--era", "modern"])});
    let unclear = run_with(&two, &["read", "echo://3"]).await;
    assert_eq!(unclear.code, Some(2), "{unclear:?}");
    assert!(
        unclear.err.contains("@e:echo://3, @m:echo://3"),
        "{unclear:?}"
    );
    let modern = run_with(&two, &["read", "@m:echo://3"]).await;
    assert_eq!(modern.out, plain.out, "{modern:?}");
    for (uri, code) in [("@none:echo://3", 2), ("nowhere://x", 2), ("@", 2)] {
        let ran = run_with(&two, &["read", uri]).await;
        assert_eq!(ran.code, Some(code), "{uri}: {ran:?}");
    }
    let launch = switchboard();
    let file = launch.home().join("out");
    let kept = tempfile::tempdir().unwrap();
    let file = kept.path().join(file.file_name().unwrap());
    let args = [
        "--mcp-config",
        &config(&one),
        "read",
        "echo://3",
        "-o",
        file.to_str().unwrap(),
    ];
    let ran = run(launch.args(args)).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), plain.out);
}

#[tokio::test]
async fn prompts_are_listed_and_filled_in() {
    for era in ["legacy", "modern"] {
        let servers = json!({"my-e": echo(&["--era", era])});
        let ran = run_with(&servers, &["prompts", "--json"]).await;
        let rows = ran.json();
        assert_eq!(rows[0]["name"], "mcp__my-e__greet", "{ran:?}");
        assert_eq!(rows[0]["arguments"][0]["name"], "name");
        let ran = run_with(&servers, &["prompts"]).await;
        assert!(ran.out.starts_with("mcp__my-e__greet name=…"), "{ran:?}");
        for name in ["greet", "my_e__greet", "mcp__my-e__greet"] {
            let ran = run_with(&servers, &["prompt", name, "name=Ada"]).await;
            assert_eq!(ran.code, Some(0), "{ran:?}");
            assert!(
                ran.out.starts_with("user:\n") && ran.out.contains("Ada"),
                "{ran:?}"
            );
        }
        let ran = run_with(&servers, &["prompt", "greet", "name=Ada", "--json"]).await;
        assert!(ran.json()["messages"].is_array(), "{ran:?}");
        for (args, words) in [
            (&["prompt", "greet"][..], "needs the argument \"name\""),
            (&["prompt", "greet", "nom=x"], "has no argument \"nom\""),
            (&["prompt", "great"], "did you mean"),
            (&["prompt", "greet", "x"], "expected KEY=VALUE"),
        ] {
            let ran = run_with(&servers, args).await;
            assert_eq!(ran.code, Some(2), "{ran:?}");
            assert!(ran.err.contains(words), "{ran:?}");
        }
    }
}

#[tokio::test]
async fn arguments_are_checked_before_they_leave() {
    let servers = json!({"e": echo(&[])});
    let ran = run_with(&servers, &["call", "sleep", r#"{"ms": "soon"}"#]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err.contains("ms") && ran.err.contains("integer"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_large_result_goes_to_a_file_that_the_text_names() {
    let data = tempfile::tempdir().unwrap();
    let servers = config(&json!({"e": echo(&[])}));
    let args = [
        "call",
        "payload",
        "-a",
        "bytes=200000",
        "--format",
        "anthropic",
    ];
    let launch = switchboard()
        .env("XDG_DATA_HOME", data.path())
        .args(["--mcp-config", &servers])
        .args(args);
    let ran = run(launch).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let content: Value = ran.json()["content"].clone();
    let text = content[0]["text"].as_str().unwrap();
    assert!(text.len() < 5000, "{} characters are shown", text.len());
    let results = data.path().join("switchboard/results");
    assert!(text.contains(results.to_str().unwrap()), "{text}");
    let kept = std::fs::read_dir(&results).unwrap().flatten();
    let sizes: Vec<u64> = kept
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .collect();
    assert!(sizes.iter().any(|size| *size >= 200_000), "{sizes:?}");
}
