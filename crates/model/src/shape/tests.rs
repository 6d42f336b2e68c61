use super::*;
use ::image::{DynamicImage, ImageFormat, RgbImage};
use base64::{Engine, engine::general_purpose::STANDARD};
use std::{fs, io::Cursor, path::PathBuf};

pub(super) const ORIGIN: Origin<'static> = Origin {
    server: "S",
    tool: "T",
    max_chars: None,
};

/// A small PNG, in base64.
pub(super) fn png(width: u32, height: u32) -> String {
    let mut bytes = Cursor::new(Vec::new());
    let image = DynamicImage::ImageRgb8(RgbImage::from_pixel(
        width,
        height,
        ::image::Rgb([200, 10, 10]),
    ));
    image.write_to(&mut bytes, ImageFormat::Png).unwrap();
    STANDARD.encode(bytes.into_inner())
}

fn shaped(result: &Value) -> Shaped {
    Shaper::default()
        .shape(&ORIGIN, result.to_string().as_bytes())
        .unwrap()
}

pub(super) fn with_store() -> (tempfile::TempDir, Shaper) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("results")).unwrap();
    (
        dir,
        Shaper {
            store: Some(store),
            options: Options::default(),
        },
    )
}

pub(super) fn text_of(shaped: &Shaped) -> &str {
    match shaped.blocks.as_slice() {
        [Block::Text(text), ..] => text,
        other => panic!("no text first: {other:?}"),
    }
}

/// The path in a text that ends with it.
fn saved_path(text: &str) -> PathBuf {
    PathBuf::from(text.rsplit_once("saved to ").unwrap().1)
}

#[test]
fn the_conversion_table() {
    let png = png(3, 2);
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": png } });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let table = [
        // text
        (
            json!({ "type": "text", "text": "hello" }),
            vec![text("hello")],
        ),
        // image
        (
            json!({ "type": "image", "data": png, "mimeType": "image/png" }),
            vec![image.clone()],
        ),
        // an image whose declared type is wrong: the bytes decide, since the API looks at them too
        (
            json!({ "type": "image", "data": png, "mimeType": "image/jpeg" }),
            vec![image.clone()],
        ),
        // resource, text
        (
            json!({ "type": "resource", "resource": { "uri": "file:///a", "text": "body" } }),
            vec![text("[Resource from S at file:///a] body")],
        ),
        // resource, empty text
        (
            json!({ "type": "resource", "resource": { "uri": "file:///a", "text": "" } }),
            vec![text("[Resource from S at file:///a] ")],
        ),
        // resource, blob that is an image: the prefix as a text before it
        (
            json!({ "type": "resource", "resource": { "uri": "file:///a.png", "blob": png, "mimeType": "image/png" } }),
            vec![text("[Resource from S at file:///a.png] "), image.clone()],
        ),
        // resource, neither
        (
            json!({ "type": "resource", "resource": { "uri": "file:///a" } }),
            vec![text("[Resource from S at file:///a] (no content)")],
        ),
        // resource links
        (
            json!({ "type": "resource_link", "name": "N", "uri": "file:///a", "description": "D" }),
            vec![text("[Resource link: N] file:///a (D)")],
        ),
        (
            json!({ "type": "resource_link", "name": "N", "uri": "file:///a" }),
            vec![text("[Resource link: N] file:///a")],
        ),
        (
            json!({ "type": "resource_link", "name": "N", "uri": "file:///a", "description": "" }),
            vec![text("[Resource link: N] file:///a")],
        ),
        // what nobody knows is named
        (
            json!({ "type": "hologram", "data": 1 }),
            vec![text(
                "[Content of the unknown type \"hologram\" from S is not shown]",
            )],
        ),
        (
            json!("bare"),
            vec![text("[An unreadable content item from S is not shown]")],
        ),
    ];
    for (item, expected) in table {
        let result = shaped(&json!({ "content": [item] }));
        assert_eq!(result.to_claude(), expected, "{item}");
        assert_eq!(result.form, Form::Content);
    }
}

#[test]
fn blobs_are_files_or_base64_as_chosen() {
    let blob = STANDARD.encode(b"%PDF-1.7 \xff\x00");
    let result = json!({ "content": [
        { "type": "resource", "resource": { "uri": "x:1", "blob": blob, "mimeType": "application/pdf" } },
        { "type": "resource", "resource": { "uri": "x:2", "blob": blob } },
        { "type": "audio", "data": blob, "mimeType": "audio/wav" },
    ] });
    let raw = result.to_string();
    let (_dir, mut shaper) = with_store();
    let files = shaper.shape(&ORIGIN, raw.as_bytes()).unwrap();
    let starts = [
        (
            "[Resource from S at x:1] Data (application/pdf, 11 bytes) saved to ",
            "pdf",
        ),
        (
            "[Resource from S at x:2] Data (unknown type, 11 bytes) saved to ",
            "bin",
        ),
        (
            "[Audio from S] Audio (audio/wav, 11 bytes) saved to ",
            "wav",
        ),
    ];
    for (block, (start, ending)) in files.blocks.iter().zip(starts) {
        let Block::Text(text) = block else {
            panic!("{block:?}")
        };
        assert!(text.starts_with(start), "{text}");
        let path = saved_path(text);
        assert_eq!(path.extension().unwrap(), ending);
        assert_eq!(fs::read(path).unwrap(), b"%PDF-1.7 \xff\x00");
    }
    // As one text, where it is wanted so.
    shaper.options.inline_blobs = true;
    let inline = shaper.shape(&ORIGIN, raw.as_bytes()).unwrap();
    assert_eq!(
        inline.blocks[0],
        Block::Text(format!(
            "[Resource from S at x:1] Base64 data (application/pdf) {blob}"
        ))
    );
    assert_eq!(
        inline.blocks[1],
        Block::Text(format!(
            "[Resource from S at x:2] Base64 data (unknown type) {blob}"
        ))
    );
    // Nowhere to put it: said, not lost silently.
    let nowhere = Shaper::default().shape(&ORIGIN, raw.as_bytes()).unwrap();
    assert!(
        nowhere
            .to_text()
            .contains("(application/pdf, 11 bytes) that is not kept"),
        "{}",
        nowhere.to_text()
    );
}

#[test]
fn what_cannot_be_decoded_is_said_and_the_rest_stays() {
    let (_dir, shaper) = with_store();
    let svg = STANDARD.encode("<svg/>");
    let result = json!({ "content": [
        { "type": "image", "data": "***", "mimeType": "image/png" },
        { "type": "image", "data": STANDARD.encode(b"\x89PNG\r\n\x1a\nbroken"), "mimeType": "image/png" },
        { "type": "image", "data": svg, "mimeType": "image/svg+xml" },
        { "type": "text", "text": "still here" },
    ] });
    let shaped = shaper
        .shape(&ORIGIN, result.to_string().as_bytes())
        .unwrap();
    let texts: Vec<String> = shaped.blocks.iter().map(Block::to_text).collect();
    assert!(
        texts[0].starts_with("[Image from S] Image that is not shown: it is not valid base64"),
        "{}",
        texts[0]
    );
    assert!(
        texts[1].starts_with("[Image from S] Image that is not shown: it cannot be decoded"),
        "{}",
        texts[1]
    );
    assert_eq!(fs::read_to_string(saved_path(&texts[2])).unwrap(), "<svg/>");
    assert_eq!(texts[3], "still here");
}

#[test]
fn base64_is_read_as_servers_write_it() {
    let png = png(3, 2);
    let wrapped: Vec<&str> = png
        .as_bytes()
        .chunks(20)
        .map(|chunk| std::str::from_utf8(chunk).unwrap())
        .collect();
    for data in [wrapped.join("\n"), png.trim_end_matches('=').to_owned()] {
        let result = shaped(
            &json!({ "content": [{ "type": "image", "data": data, "mimeType": "image/png" }] }),
        );
        assert!(
            matches!(&result.blocks[..], [Block::Image(image)] if image.data == png),
            "{:?}",
            result.blocks
        );
    }
}

#[test]
fn errors_by_the_seed() {
    let table = [
        (
            json!({ "isError": true, "content": [{ "type": "text", "text": "boom" }, { "type": "text", "text": "2" }] }),
            "boom",
        ),
        (
            json!({ "isError": true, "content": [{ "type": "image", "data": "" }], "error": "unused" }),
            "Unknown error",
        ),
        (
            json!({ "isError": true, "content": [], "error": "from error" }),
            "from error",
        ),
        (
            json!({ "isError": true, "error": { "code": 1 } }),
            "{\"code\":1}",
        ),
        (json!({ "isError": true, "error": 7 }), "7"),
        (json!({ "isError": true }), "Unknown error"),
        (
            json!({ "isError": true, "structuredContent": {}, "content": [{ "type": "text", "text": "" }] }),
            "Unknown error",
        ),
    ];
    for (result, expected) in table {
        let shaped = shaped(&result);
        assert!(shaped.is_error());
        assert_eq!(text_of(&shaped), expected, "{result}");
        assert_eq!(shaped.to_tool_result("u")["is_error"], true);
    }
    let fine = shaped(&json!({ "isError": false, "content": [{ "type": "text", "text": "ok" }] }));
    assert!(!fine.is_error());
    assert_eq!(
        fine.to_tool_result("u1"),
        json!({ "type": "tool_result", "tool_use_id": "u1", "content": [{ "type": "text", "text": "ok" }] })
    );
}

#[test]
fn precedence_of_the_forms() {
    let content = json!([{ "type": "text", "text": "content" }]);
    let table = [
        (
            json!({ "toolResult": "old", "structuredContent": { "a": 1 }, "content": content }),
            Form::ToolResult,
            "old",
        ),
        (
            json!({ "toolResult": { "a": [1, 2] } }),
            Form::ToolResult,
            "{\"a\":[1,2]}",
        ),
        (json!({ "toolResult": 5 }), Form::ToolResult, "5"),
        (
            json!({ "structuredContent": { "a": 1 }, "content": content }),
            Form::Structured,
            "{\"a\":1}",
        ),
        // Some servers write null for "there is none".
        (
            json!({ "structuredContent": null, "content": content }),
            Form::Content,
            "content",
        ),
        (json!({ "content": content }), Form::Content, "content"),
    ];
    for (result, form, text) in table {
        let shaped = shaped(&result);
        assert_eq!((shaped.form, text_of(&shaped)), (form, text), "{result}");
    }
    for raw in [
        "{}",
        "{\"content\":\"text\"}",
        "[]",
        "null",
        "3",
        "{\"content\":[],\"content\":[]}",
        "not json",
    ] {
        let fault = Shaper::default()
            .shape(&ORIGIN, raw.as_bytes())
            .unwrap_err();
        assert_eq!(
            fault.to_string(),
            "Unexpected response format from tool T",
            "{raw}"
        );
    }
}

#[test]
fn structured_content_keeps_its_numbers_and_has_a_schema() {
    let raw = r#"{"structuredContent": { "n" : 12345678901234567890123, "e": 1E400, "s" : "a \" b" , "l": [ {"x":1} ] } }"#;
    let exact = Shaper::default().shape(&ORIGIN, raw.as_bytes()).unwrap();
    assert_eq!(
        text_of(&exact),
        r#"{"n":12345678901234567890123,"e":1E400,"s":"a \" b","l":[{"x":1}]}"#
    );
    let plain =
        shaped(&json!({ "structuredContent": { "n": 1, "s": "", "l": [{ "x": null }], "o": {} } }));
    assert_eq!(
        plain.schema.as_deref(),
        Some("{n: number, s: string, l: [{x: null}], o: {}}")
    );
}

#[test]
fn the_compact_schema_is_compact() {
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!({ "a": deep });
    }
    assert_eq!(compact_schema(&deep), "{a: {a: {a: {…}}}}");
    let wide: serde_json::Map<String, Value> =
        (0..50).map(|n| (format!("k{n:02}"), json!(true))).collect();
    let wide = compact_schema(&Value::Object(wide));
    assert!(
        wide.starts_with("{k00: boolean, ") && wide.ends_with("k09: boolean, …}"),
        "{wide}"
    );
    assert_eq!(compact_schema(&json!([])), "[]");
    assert_eq!(compact_schema(&json!([[[[["x"]]]]])), "[[[[…]]]]");
}

#[test]
fn lone_surrogates_do_not_lose_the_text() {
    let raw = br#"{"content":[{"type":"text","text":"a\ud800b"}]}"#;
    let shaped = Shaper::default().shape(&ORIGIN, raw).unwrap();
    assert!(
        text_of(&shaped).starts_with('a') && text_of(&shaped).ends_with('b'),
        "{:?}",
        shaped.blocks
    );
}

#[test]
fn a_blob_that_declares_a_gibibyte_is_refused_before_it_is_decoded() {
    let (dir, shaper) = with_store();
    let resource =
        json!({ "uri": "x:1", "blob": "AAAA", "size": 1_u64 << 30, "mimeType": "application/zip" });
    let raw = json!({ "content": [{ "type": "resource", "resource": resource }] });
    let shaped = shaper.shape(&ORIGIN, raw.to_string().as_bytes()).unwrap();
    let expected = "[Resource from S at x:1] Data that is not shown: it has 1073741824 bytes, and the limit is 67108864";
    assert_eq!(text_of(&shaped), expected);
    // One that really is too large, though its message came through.
    let data = "A".repeat(limits::BLOB_BYTES / 3 * 4 + 100);
    let raw = format!("{{\"content\":[{{\"type\":\"audio\",\"data\":\"{data}\"}}]}}");
    let shaped = shaper.shape(&ORIGIN, raw.as_bytes()).unwrap();
    assert!(
        text_of(&shaped).contains("the limit is 67108864"),
        "{}",
        text_of(&shaped)
    );
    assert_eq!(fs::read_dir(dir.path().join("results")).unwrap().count(), 0);
}

#[test]
fn people_see_what_a_terminal_would_obey() {
    let result =
        shaped(&json!({ "content": [{ "type": "text", "text": "a\u{1b}[2Jb\u{202e}c\nd" }] }));
    assert_eq!(result.to_people(), "a\\u{1b}[2Jb\\u{202e}c\nd");
    assert_eq!(result.to_text(), "a\u{1b}[2Jb\u{202e}c\nd");
}

#[test]
fn empty_texts_do_not_reach_the_api() {
    let result = shaped(
        &json!({ "content": [{ "type": "text", "text": "" }, { "type": "text", "text": "x" }] }),
    );
    assert_eq!(result.to_claude(), [json!({ "type": "text", "text": "x" })]);
}

#[test]
fn more_items_than_anyone_reads_are_cut() {
    let raw = format!(
        "{{\"content\":[{}]}}",
        vec!["{\"type\":\"text\",\"text\":\"\"}"; limits::RESULT_ITEMS + 5].join(",")
    );
    let shaped = Shaper::default().shape(&ORIGIN, raw.as_bytes()).unwrap();
    assert_eq!(shaped.blocks.len(), limits::RESULT_ITEMS + 1);
    assert_eq!(
        shaped.blocks.last().unwrap().to_text(),
        "[Only the first 10000 content items are shown]"
    );
}

#[test]
fn read_result_is_defined_and_refuses_wrong_arguments() {
    let (_dir, shaper) = with_store();
    let store = shaper.store.unwrap();
    assert_eq!(read_result::definition()["name"], read_result::NAME);
    for (arguments, part) in [
        (
            json!({ "id": "../../etc/passwd" }),
            "there is no stored result",
        ),
        (json!({ "id": "0".repeat(32) }), "there is no stored result"),
        (json!({}), "missing field `id`"),
        (json!({ "id": "x", "limit": 1 }), "unknown field `limit`"),
    ] {
        let fault = read_result::run(&store, arguments.to_string().as_bytes());
        let fault = fault.unwrap_err().to_string();
        assert!(fault.contains(part), "{fault}");
    }
}
