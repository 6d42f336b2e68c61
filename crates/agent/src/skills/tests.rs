use super::{
    frontmatter::{read, same},
    *,
};
use serde_json::json;

#[test]
fn frontmatter_reads_as_the_json_it_stands_for() {
    let text = "---\r\nname: pdf\ndescription: 'Fill: forms'\nversion: 1.5\nn: -3\nx: 0x1F\nlong: >-\n  one\n  two\n\
                yes: yes\non: true\nnothing:\ninf: inf\nlist: [a, 2, ~]\nmetadata:\n  deep: {a: \"1\"}\n---\nbody: not: yaml\n";
    assert_eq!(
        read(text).expect("frontmatter"),
        json!({"name": "pdf", "description": "Fill: forms", "version": 1.5, "n": -3, "x": 31, "long": "one two",
               "yes": "yes", "on": true, "nothing": null, "inf": "inf", "list": ["a", 2, null],
               "metadata": {"deep": {"a": "1"}}})
    );
}

#[test]
fn frontmatter_that_json_cannot_say_or_that_could_explode_is_refused() {
    for bad in [
        "",
        "name: x\n---\n",
        "---\nname: x\n",
        "---\n---\n",
        "---\n- a\n---\n",
        "---\na: &x 1\nb: *x\n---\n",
        "---\na: !!binary aGk=\n---\n",
        "---\na: 1\na: 2\n---\n",
        "---\n? [a]\n: 1\n---\n",
        "---\na: [\n---\n",
        "---\na: \"\u{0}\"\nb: }\n---\n",
    ] {
        assert!(read(bad).is_err(), "{bad:?}");
    }
    assert!(read(&format!("---\na: {}\n---\n", "[".repeat(500))).is_err());
    assert!(read(&format!("---\na: {}\n---\n", "x".repeat(100_000))).is_err());
}

#[test]
fn any_difference_counts_and_only_the_spelling_of_numbers_does_not() {
    let entry = json!({"name": "a", "n": 1, "list": [1, {"b": "c"}]});
    assert!(same(
        &entry,
        &json!({"list": [1.0, {"b": "c"}], "n": 1, "name": "a"})
    ));
    for other in [
        json!({"name": "a", "n": 1}),
        json!({"name": "a", "n": 1, "list": [1, {"b": "c"}], "more": null}),
        json!({"name": "a", "n": "1", "list": [1, {"b": "c"}]}),
        json!({"name": "a", "n": 1, "list": [{"b": "c"}, 1]}),
    ] {
        assert!(!same(&entry, &other), "{other}");
    }
}

#[test]
fn a_file_is_what_its_entry_says_or_not_used() {
    let file = |digest: &str, size| SkillFile {
        uri: "skill://a".into(),
        digest: digest.into(),
        size,
    };
    let digest = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert!(verify(&file(digest, Some(5)), b"hello").is_ok());
    let upper = digest.replace("cf24dba", "CF24DBA");
    assert!(verify(&file(&upper, None), b"hello").is_ok());
    assert!(verify(&file(digest, Some(6)), b"hello").is_err());
    assert!(verify(&file(digest, Some(5)), b"hellO").is_err());
    assert!(
        verify(
            &file("md5:5d41402abc4b2a76b9719d911017c592", Some(5)),
            b"hello"
        )
        .is_err()
    );
}

#[test]
fn a_read_brings_exactly_the_file_that_was_asked_for() {
    let text = br#"{"contents":[{"uri":"skill://a","text":"hi"}]}"#;
    assert_eq!(content(text, "skill://a").ok().as_deref(), Some(&b"hi"[..]));
    let blob = br#"{"contents":[{"uri":"skill://a","blob":"aGk="}]}"#;
    assert_eq!(content(blob, "skill://a").ok().as_deref(), Some(&b"hi"[..]));
    assert!(content(text, "skill://b").is_err());
    assert!(content(br#"{"contents":[]}"#, "skill://a").is_err());
    let twice =
        br#"{"contents":[{"uri":"skill://a","text":"hi"},{"uri":"skill://a","text":"ho"}]}"#;
    assert!(content(twice, "skill://a").is_err());
}
