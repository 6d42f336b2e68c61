use super::*;
use serde_json::json;

fn field(key: &str, kind: &str, required: bool) -> Field {
    Field {
        key: key.to_owned(),
        path: format!("/{key}"),
        kind: kind.to_owned(),
        label: key.to_owned(),
        required,
        ..Field::default()
    }
}

fn object(fields: Vec<Field>) -> Field {
    Field {
        kind: "object".to_owned(),
        required: true,
        fields,
        ..Field::default()
    }
}

fn typing(form: &mut Form, text: &str) {
    for c in text.chars() {
        assert!(form.key(Key::Char(c)), "{c} in row {}", form.at);
    }
}

#[test]
fn a_form_is_filled_in() {
    let mut list = field("tags", "array", false);
    list.item = Some(Box::new(field("", "string", false)));
    let mut level = field("level", "enum", false);
    level.values = vec![json!("low"), json!("high")];
    let mut form = Form::new(object(vec![
        field("message", "string", true),
        field("count", "integer", false),
        level,
        list,
        field("again", "boolean", false),
        object(vec![field("left", "string", true)]),
    ]));
    assert_eq!(form.value().unwrap_err()[0].path, "/message");
    typing(&mut form, "hi there");
    form.step(1);
    typing(&mut form, "3");
    form.step(1);
    form.key(Key::Char(' '));
    form.key(Key::Right);
    form.step(1);
    form.key(Key::Char('+'));
    typing(&mut form, "a");
    form.step(1);
    form.key(Key::Left);
    let value = form.value();
    // The last member is an object that must be there, and so must what is in it.
    assert_eq!(value.unwrap_err()[0].path, "//left");
    form.step(2);
    typing(&mut form, "x");
    assert_eq!(
        form.value().unwrap(),
        json!({"message": "hi there", "count": 3, "level": "high", "tags": ["a"], "again": false, "": {"left": "x"}})
    );
}

#[test]
fn what_nobody_touched_is_not_sent() {
    let mut optional = object(vec![field("needed", "string", true)]);
    optional.required = false;
    optional.key = "more".into();
    let mut form = Form::new(object(vec![field("note", "string", false), optional]));
    assert_eq!(form.value().unwrap(), json!({}));
    typing(&mut form, "a");
    form.key(Key::Backspace);
    assert_eq!(form.value().unwrap(), json!({ "note": "" }));
    form.key(Key::Backspace);
    assert_eq!(form.value().unwrap(), json!({}));
}

/// Of a tool whose schema says "an object" and no more.
#[test]
fn arguments_of_no_names_are_none_until_some_are_written() {
    let mut form = Form::new(field("", "json", false));
    assert_eq!(form.value().unwrap(), json!({}));
    typing(&mut form, "{\"a\":1}");
    assert_eq!(form.value().unwrap(), json!({"a": 1}));
}

#[test]
fn what_is_wrong_is_said_where_it_is() {
    let mut form = Form::new(object(vec![
        field("count", "integer", true),
        field("any", "json", false),
    ]));
    typing(&mut form, "many");
    form.step(1);
    typing(&mut form, "{");
    let faults = form.value().unwrap_err();
    let paths: Vec<_> = faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(paths, ["/count", "/any"]);
    form.faults = faults;
    assert!(form.rows().iter().all(|row| row.fault.is_some()));
    form.go_to_fault();
    assert_eq!(form.at, 0);
}

#[test]
fn secrets_are_not_shown() {
    let mut secret = field("password", "string", true);
    secret.format = Some("password".into());
    let mut form = Form::new(object(vec![secret]));
    typing(&mut form, "hush");
    assert_eq!(form.rows()[0].shown.as_deref(), Some("••••"));
    assert_eq!(form.value().unwrap(), json!({"password": "hush"}));
}

#[test]
fn one_of_several_ways() {
    let mut way = field("target", "choice", true);
    way.options = vec![field("", "string", true), field("", "integer", true)];
    let mut form = Form::new(object(vec![way]));
    form.key(Key::Right);
    form.step(1);
    typing(&mut form, "7");
    assert_eq!(form.value().unwrap(), json!({ "target": 7 }));
}

#[test]
fn a_schema_that_is_too_deep_ends_in_json() {
    let mut deep = field("end", "string", false);
    for level in 0..40 {
        let key = format!("level{level}");
        deep = Field {
            key,
            kind: "object".into(),
            fields: vec![deep],
            ..Field::default()
        };
    }
    let form = Form::new(deep);
    assert_eq!(form.rows().last().unwrap().kind, "JSON");
}

/// A new item is what one types into next.
#[test]
fn nothing_that_is_typed_on_a_list_is_lost() {
    let mut list = field("tags", "array", false);
    list.item = Some(Box::new(field("", "string", false)));
    let mut people = field("people", "array", false);
    people.item = Some(Box::new(object(vec![
        field("name", "string", true),
        field("age", "integer", false),
    ])));
    let mut form = Form::new(object(vec![list, people]));
    form.key(Key::Char(' '));
    typing(&mut form, "first one");
    form.step(-1);
    // Also without the key that adds one.
    typing(&mut form, "second");
    form.step(1);
    form.key(Key::Char('+'));
    typing(&mut form, "Ann");
    form.step(1);
    typing(&mut form, "7");
    form.step(-3);
    form.paste("Bob");
    assert_eq!(
        form.value().unwrap(),
        json!({"tags": ["first one", "second"], "people": [{"name": "Ann", "age": 7}, {"name": "Bob"}]})
    );
}

#[test]
fn choices_are_shown_and_found_by_their_first_letter() {
    let mut level = field("level", "enum", true);
    level.values = vec![json!("low"), json!("high"), json!("hidden")];
    let mut form = Form::new(object(vec![level]));
    assert_eq!(form.rows()[0].kind, "low | high | hidden");
    form.faults = form.value().unwrap_err();
    assert_eq!(form.rows()[0].fault.as_deref(), Some("is needed"));
    typing(&mut form, "h");
    // What was wrong is not said of what has been filled in since.
    assert_eq!(form.rows()[0].fault, None);
    assert_eq!(form.value().unwrap(), json!({ "level": "high" }));
    typing(&mut form, "h");
    assert_eq!(form.value().unwrap(), json!({ "level": "hidden" }));
}
