use super::*;
use http::HeaderValue;

fn of(values: &[&str]) -> Option<Accepts> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(header::ACCEPT, HeaderValue::from_str(value).unwrap());
    }
    Accepts::of(&headers)
}

#[test]
fn what_is_said_most_closely_counts() {
    let table: &[(&[&str], Option<Accepts>)] = &[
        (&[], Some(Accepts::Either)),
        (&[""], Some(Accepts::Either)),
        (&["*/*"], Some(Accepts::Either)),
        (
            &["application/json, text/event-stream"],
            Some(Accepts::Either),
        ),
        (
            &["text/event-stream;q=0.1", "APPLICATION/JSON ; q=1"],
            Some(Accepts::Either),
        ),
        (&["text/html, */*;q=0.8"], Some(Accepts::Either)),
        (&["text/event-stream"], Some(Accepts::Events)),
        (&["text/*"], Some(Accepts::Events)),
        (&["application/json;q=0, */*"], Some(Accepts::Events)),
        (&["application/json; charset=utf-8"], Some(Accepts::Json)),
        (&["application/*"], Some(Accepts::Json)),
        (
            &["application/json, text/event-stream; q=0.000"],
            Some(Accepts::Json),
        ),
        (&["text/event-stream;Q=0, */*;q=0.1"], Some(Accepts::Json)),
        (&["text/html"], None),
        (&["application/json;q=0"], None),
        (&["*/*;q=0"], None),
        (&["json"], None),
    ];
    for (values, expected) in table {
        assert_eq!(of(values), *expected, "{values:?}");
    }
}
