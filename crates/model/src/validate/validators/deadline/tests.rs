use crate::{
    limits,
    validate::{Validators, Verdict, validators::tests::check},
};
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// A check ends, whatever it says. Without a deadline these would take years, so the
/// margin can be one that no busy machine reaches.
async fn in_time(schema: &Value, value: &Value) -> Verdict {
    let start = Instant::now();
    let verdict = Validators::default()
        .check(schema.to_string().as_bytes(), value.to_string().as_bytes())
        .await;
    let took = start.elapsed();
    assert!(
        took < limits::VALIDATION + Duration::from_secs(30),
        "{took:?}"
    );
    verdict
}

#[tokio::test]
async fn schema_bombs_are_stopped() {
    // 3^30 ways to fail.
    let mut levels = serde_json::Map::new();
    for n in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/l{}", n + 1) });
        levels.insert(
            format!("l{n}"),
            json!({ "anyOf": [next, { "allOf": [next] }, next] }),
        );
    }
    levels.insert(
        "l30".to_owned(),
        json!({ "type": "string", "minLength": 5 }),
    );
    let bomb = json!({ "$ref": "#/$defs/l0", "$defs": levels });
    let verdict = in_time(&bomb, &json!(7)).await;
    assert!(
        matches!(&verdict, Verdict::Unchecked(reason) if reason.contains("too long")),
        "{verdict:?}"
    );

    // The same over the value, which no reference shows.
    let mut nested = json!({ "type": "integer" });
    for _ in 0..50 {
        nested = json!({ "items": { "oneOf": [nested, nested.clone()] } });
        if nested.to_string().len() > 400_000 {
            break;
        }
    }
    let mut deep = json!("x");
    for _ in 0..20 {
        deep = json!([deep]);
    }
    in_time(&nested, &deep).await;

    for (schema, part) in [
        (
            json!({ "anyOf": vec![json!({ "type": "null" }); 20_000] }),
            "subschemas",
        ),
        (json!({ "$ref": "#" }), "circle"),
        (
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "allOf": [{ "$ref": "#/$defs/b" }] }, "b": { "not": { "$ref": "#/$defs/a" } } } }),
            "circle",
        ),
        (
            json!({ "properties": { "a": { "$id": "http://x/", "$ref": "#/b" } } }),
            "$id",
        ),
        (
            json!({ "allOf": vec![json!({ "pattern": "a" }); 300] }),
            "patterns",
        ),
        (json!(7), "neither"),
        (json!({ "type": "bogus" }), "bogus"),
    ] {
        let verdict = check(&schema, &json!({ "a": 1 })).await;
        assert!(
            matches!(&verdict, Verdict::Unchecked(reason) if reason.contains(part)),
            "{part}: {verdict:?}"
        );
        in_time(&schema, &json!({ "a": 1 })).await;
    }
    // Ten thousand references, one after the other.
    let mut chain = serde_json::Map::new();
    for n in 0..9_000 {
        chain.insert(
            format!("r{n}"),
            json!({ "$ref": format!("#/$defs/r{}", n + 1) }),
        );
    }
    chain.insert("r9000".to_owned(), json!(true));
    let chain = json!({ "$ref": "#/$defs/r0", "$defs": chain });
    assert!(
        matches!(check(&chain, &json!(1)).await, Verdict::Unchecked(reason) if reason.contains("lead from one to the next"))
    );
    in_time(&chain, &json!(1)).await;
}

#[tokio::test]
async fn the_longest_way_that_is_let_through_fits_the_stack() {
    // Every level of the value goes through as many subschemas as there may be, by each kind of step.
    let steps: [fn(Value) -> Value; 4] = [
        |next| next,
        |next| json!({ "anyOf": [next] }),
        |next| json!({ "oneOf": [{ "type": "null" }, next] }),
        |next| json!({ "if": next, "then": true, "else": next }),
    ];
    for (step, costs) in steps.into_iter().zip([1, 2, 2, 2]) {
        let mut defs = serde_json::Map::new();
        let last = (limits::SCHEMA_CHAIN - 4) / costs;
        for n in 0..last {
            defs.insert(
                format!("r{n}"),
                step(json!({ "$ref": format!("#/$defs/r{}", n + 1) })),
            );
        }
        defs.insert(
            format!("r{last}"),
            json!({ "type": "array", "items": { "$ref": "#/$defs/r0" } }),
        );
        let schema = json!({ "$ref": "#/$defs/r0", "$defs": defs });
        for innermost in [json!([]), json!(1)] {
            let mut deep = innermost;
            for _ in 0..120 {
                deep = json!([deep]);
            }
            let text = (schema.to_string(), deep.to_string());
            let verdict = Validators::new(Duration::from_secs(3))
                .check(text.0.as_bytes(), text.1.as_bytes())
                .await;
            // Some take too long, which is fine; none may take the process along.
            assert!(
                !matches!(&verdict, Verdict::Unchecked(reason) if !reason.contains("too long")),
                "{verdict:?}"
            );
        }
    }
}

#[tokio::test]
async fn catastrophic_patterns_are_linear() {
    let schema = json!({ "type": "string", "pattern": "^(a+)+$" });
    let value = json!(format!("{}!", "a".repeat(50_000)));
    assert!(matches!(check(&schema, &value).await, Verdict::Invalid(_)));
    in_time(&schema, &value).await;
    let huge = json!({ "pattern": "(((a{100}){100}){100}){100}", "minLength": 2 });
    assert!(
        matches!(check(&huge, &json!("x")).await, Verdict::Invalid(_)),
        "left out, and the rest counts"
    );
    in_time(&huge, &json!("x")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bombs_leave_room_for_others() {
    let validators = Arc::new(Validators::default());
    let mut levels = serde_json::Map::new();
    for n in 0..60 {
        let next = json!({ "$ref": format!("#/$defs/l{}", n + 1) });
        levels.insert(format!("l{n}"), json!({ "anyOf": [next, next, next] }));
    }
    levels.insert(
        "l60".to_owned(),
        json!({ "type": "string", "minLength": 5 }),
    );
    let bomb = json!({ "$ref": "#/$defs/l0", "$defs": levels }).to_string();
    let bombs = (0..limits::VALIDATIONS_AT_ONCE * 2).map(|_| {
        let (validators, bomb) = (validators.clone(), bomb.clone());
        tokio::spawn(async move { validators.check(bomb.as_bytes(), b"7").await })
    });
    for bomb in bombs.collect::<Vec<_>>() {
        assert!(matches!(bomb.await.unwrap(), Verdict::Unchecked(_)));
    }
    // They end by themselves: no thread goes on with work that nobody waits for.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(
        validators.at_once.available_permits(),
        limits::VALIDATIONS_AT_ONCE
    );
}
