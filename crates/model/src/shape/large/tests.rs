use crate::{
    limits,
    shape::{
        Block, Options, Origin, Query, Shaper, read_result,
        tests::{ORIGIN, png, text_of, with_store},
    },
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::fs;

#[test]
fn the_limit_is_exact() {
    let (_dir, shaper) = with_store();
    let result =
        |text: String| json!({ "content": [{ "type": "text", "text": text }] }).to_string();
    let stored = |shaper: &Shaper, origin: &Origin<'_>, text: String| {
        shaper
            .shape(origin, result(text).as_bytes())
            .unwrap()
            .stored
    };
    assert!(stored(&shaper, &ORIGIN, "x".repeat(100_000)).is_none());
    assert!(stored(&shaper, &ORIGIN, "x".repeat(100_001)).is_some());
    // Fewer characters, more tokens.
    assert!(stored(&shaper, &ORIGIN, "ü".repeat(50_000)).is_none());
    assert!(stored(&shaper, &ORIGIN, "ü".repeat(50_001)).is_some());
    // The tool's own limit replaces both, up to a ceiling, and can be lower.
    let own = |max_chars: usize| Origin {
        max_chars: Some(max_chars),
        ..ORIGIN
    };
    assert!(stored(&shaper, &own(200_000), "ü".repeat(200_000)).is_none());
    assert!(stored(&shaper, &own(200_000), "ü".repeat(200_001)).is_some());
    assert!(stored(&shaper, &own(10), "x".repeat(11)).is_some());
    assert!(stored(&shaper, &own(usize::MAX), "x".repeat(500_001)).is_some());
    // In the result itself.
    let raw = json!({ "_meta": { "anthropic/maxResultSizeChars": 3 }, "content": [{ "type": "text", "text": "four" }] });
    assert!(
        shaper
            .shape(&ORIGIN, raw.to_string().as_bytes())
            .unwrap()
            .stored
            .is_some()
    );
    // MAX_MCP_OUTPUT_TOKENS.
    let small = Shaper {
        options: Options {
            max_tokens: 10,
            ..shaper.options
        },
        ..shaper
    };
    assert!(stored(&small, &ORIGIN, "x".repeat(40)).is_none());
    assert!(stored(&small, &ORIGIN, "x".repeat(41)).is_some());
}

#[test]
fn a_text_of_200_000_characters_goes_to_a_file_and_can_be_read_back() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, shaper) = with_store();
    let lines: Vec<String> = (1..=10_000)
        .map(|n| format!("line {n:05} é{}", "x".repeat(7)))
        .collect();
    let text = lines.join("\n");
    assert!(text.chars().count() > 190_000);
    let raw = json!({ "content": [{ "type": "text", "text": text }] }).to_string();
    let shaped = shaper.shape(&ORIGIN, raw.as_bytes()).unwrap();
    let stored = shaped.stored.clone().unwrap();
    let notice = text_of(&shaped);
    for part in [
        stored.path.to_str().unwrap(),
        &stored.id,
        &format!("{} characters, {} bytes", text.chars().count(), text.len()),
        "an estimate",
        "the limit is 25000 tokens or 100000 characters",
        "Format: plain text",
        "ReadResult",
        "line 00001",
    ] {
        assert!(notice.contains(part), "{part:?} is not in {notice}");
    }
    assert!(notice.len() < 2000);
    assert_eq!(fs::read_to_string(&stored.path).unwrap(), text);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&stored.path), 0o600);
    assert_eq!(mode(stored.path.parent().unwrap()), 0o700);
    // Read back by the tool, page by page, it is the same text.
    let store = shaper.store.as_ref().unwrap();
    let mut back: Vec<String> = Vec::new();
    let mut offset = Some(1);
    while let Some(from) = offset {
        let page = store
            .read(
                &stored.id,
                &Query {
                    offset: from,
                    ..Query::default()
                },
            )
            .unwrap();
        back.extend(page.rows.into_iter().map(|row| row.text));
        offset = page.next;
    }
    assert_eq!(back.join("\n"), text);
    let found = read_result::run(
        store,
        json!({ "id": stored.id, "pattern": "0777[0-9]" })
            .to_string()
            .as_bytes(),
    )
    .unwrap();
    assert!(found.starts_with("7770: line 07770"), "{found}");
    assert!(
        found.ends_with("[10 matching lines; the result has 10000 lines; this is the end]"),
        "{found}"
    );
}

#[test]
fn large_structured_content_is_laid_out_for_reading() {
    let (_dir, shaper) = with_store();
    let rows: Vec<Value> = (0..5000)
        .map(|n| json!({ "id": n, "name": format!("name of {n}") }))
        .collect();
    let raw = json!({ "structuredContent": { "rows": rows } });
    let shaped = shaper.shape(&ORIGIN, raw.to_string().as_bytes()).unwrap();
    let stored = shaped.stored.clone().unwrap();
    assert_eq!(stored.path.extension().unwrap(), "json");
    assert!(
        text_of(&shaped).contains(
            "JSON, one value a line, with the schema {rows: [{id: number, name: string}]}"
        )
    );
    let back: Value = serde_json::from_slice(&fs::read(&stored.path).unwrap()).unwrap();
    assert_eq!(back, raw["structuredContent"]);
    assert!(stored.lines > 10_000);
}

#[test]
fn without_a_store_the_start_is_shown_within_the_limit() {
    let raw = json!({ "content": [{ "type": "text", "text": "é".repeat(200_000) }] }).to_string();
    let shaped = Shaper::default().shape(&ORIGIN, raw.as_bytes()).unwrap();
    let text = text_of(&shaped);
    assert!(text.contains("there is no place to save it"));
    assert!((99_000..101_000).contains(&text.len()), "{}", text.len());
    // A full disk is no reason to lose the call.
    let (dir, shaper) = with_store();
    fs::remove_dir_all(dir.path().join("results")).unwrap();
    let shaped = shaper.shape(&ORIGIN, raw.as_bytes()).unwrap();
    assert!(text_of(&shaped).contains("it could not be saved"));
}

#[test]
fn images_stay_beside_a_large_text_and_many_images_are_bounded() {
    let (_dir, shaper) = with_store();
    let png = png(10, 10);
    let image = json!({ "type": "image", "data": png, "mimeType": "image/png" });
    let large = json!({ "content": [{ "type": "text", "text": "x".repeat(150_000) }, image] });
    let shaped = shaper.shape(&ORIGIN, large.to_string().as_bytes()).unwrap();
    assert!(matches!(
        &shaped.blocks[..],
        [Block::Text(_), Block::Image(_)]
    ));
    let kept = fs::read_to_string(shaped.stored.unwrap().path).unwrap();
    let bytes = STANDARD.decode(&png).unwrap().len();
    assert!(kept.ends_with(&format!(
        "x\n[Image: image/png, 10 × 10 pixels, {bytes} bytes]"
    )));

    let many = json!({ "content": vec![image; limits::RESULT_IMAGES + 2] });
    let shaped = shaper.shape(&ORIGIN, many.to_string().as_bytes()).unwrap();
    let images = shaped
        .blocks
        .iter()
        .filter(|block| matches!(block, Block::Image(_)))
        .count();
    assert_eq!(images, limits::RESULT_IMAGES);
    assert!(
        shaped.blocks[limits::RESULT_IMAGES]
            .to_text()
            .contains("saved to")
    );
}
