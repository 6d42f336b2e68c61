use super::*;
use crate::upstream::{ServerSpec, Target};
use serde_json::{Value, json};
use std::cell::RefCell;
use switchboard_transport::Budget;
use switchboard_wire::name::Style;

/// Servers with the tools that each lists, and how often those have changed.
struct Shop {
    servers: Vec<(Arc<Server>, Vec<Value>, u64)>,
    namer: Namer,
    /// Who was asked for what it lists.
    asked: RefCell<Vec<String>>,
}

impl Shop {
    fn new(style: Style, servers: &[(&str, &[&str])]) -> Self {
        let made = servers.iter().map(|(name, tools)| {
            let target = Target::Linked(Arc::new(|_| Ok(())));
            let server = Server::new(ServerSpec::new(*name, target), Budget::default());
            (server, tools.iter().copied().map(tool).collect(), 0)
        });
        Self {
            servers: made.collect(),
            namer: Namer::new(style, servers.iter().map(|(name, _)| *name)),
            asked: RefCell::default(),
        }
    }

    /// Another list of one server's.
    fn lists(&mut self, server: &str, tools: Vec<Value>) {
        let one = |(other, ..): &&mut (Arc<Server>, Vec<Value>, u64)| **other.name() == *server;
        let one = self.servers.iter_mut().find(one).expect("the server");
        (one.1, one.2) = (tools, one.2 + 1);
    }

    fn merged(&self, before: Option<&Merged>) -> Merged {
        self.asked.borrow_mut().clear();
        let merging = Merging {
            list: List::Tools,
            servers: self
                .servers
                .iter()
                .map(|(server, _, changes)| (server, (*changes, 0)))
                .collect(),
            namer: &self.namer,
            routes: None,
            before,
        };
        merging.merged(|server| {
            self.asked.borrow_mut().push(server.name().to_string());
            let mut all = self.servers.iter();
            let (_, tools, _) = all
                .find(|(other, ..)| Arc::ptr_eq(other, server))
                .expect("the server");
            let read = tools.iter().map(|tool| tool.to_string().into());
            read.map(|raw| Arc::new(Item::read(List::Tools, raw).expect("a tool")))
                .collect()
        })
    }
}

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {}})
}

fn tools(names: &[&str]) -> Vec<Value> {
    names.iter().copied().map(tool).collect()
}

fn app(name: &str, page: &str) -> Value {
    json!({"name": name, "inputSchema": {}, "_meta": {"ui": {"resourceUri": page}}})
}

/// All that clients see of a list.
fn shown(merged: &Merged) -> Vec<(String, String)> {
    let each = merged.iter().map(|item| {
        let mut text = String::new();
        item.write_to(&mut text);
        assert_eq!(
            text.as_bytes(),
            &item.text()[..],
            "both ways to say it agree"
        );
        (item.outward.clone(), text)
    });
    each.collect()
}

fn names(merged: &Merged) -> Vec<&str> {
    merged.iter().map(|item| item.outward.as_str()).collect()
}

#[test]
fn what_changed_is_asked_for_and_the_rest_is_as_if_all_had_been() {
    for style in [Style::Short, Style::Full, Style::Bare] {
        let servers: &[(&str, &[&str])] = &[
            ("b", &["x", "y-z", "y_z"]),
            ("a", &["x", "w"]),
            ("a__b", &["x"]),
            ("c", &[]),
        ];
        let mut shop = Shop::new(style, servers);
        let mut merged = shop.merged(None);
        let changes: [(&str, Vec<Value>); 6] = [
            ("a", tools(&["w", "v"])),
            // It would read like a tool of the server a__b.
            ("a", tools(&["b__x", "x"])),
            ("c", vec![app("page", "ui://one"), tool("z")]),
            ("b", vec![app("x", "ui://one")]),
            ("c", Vec::new()),
            ("b", tools(&["one", "two", "two", "three"])),
        ];
        for (server, tools) in changes {
            shop.lists(server, tools);
            merged = shop.merged(Some(&merged));
            if style != Style::Bare {
                assert_eq!(*shop.asked.borrow(), [server]);
            }
            let anew = shop.merged(None);
            assert_eq!(shown(&merged), shown(&anew), "{style:?} {server}");
            assert_eq!(merged.len(), merged.iter().count());
            assert_eq!(merged.model_bytes(), anew.model_bytes());
            for (at, item) in merged.iter().enumerate() {
                let found = merged.find(&item.outward).expect("it is found by its name");
                assert!(std::ptr::eq(found, item), "{}", item.outward);
                let own = merged.own(item.server.name(), &item.item.key);
                assert!(own.is_some_and(|own| std::ptr::eq(own, item)));
                assert!(
                    merged
                        .get(at)
                        .is_some_and(|there| std::ptr::eq(there, item))
                );
            }
            assert!(merged.get(merged.len()).is_none());
        }
        let gone = ["a__w", "c__page", "w", "page"];
        assert!(gone.iter().all(|name| merged.find(name).is_none()));
    }
}

#[test]
fn nothing_that_is_the_same_is_asked_for() {
    let mut shop = Shop::new(Style::Short, &[("a", &["x"]), ("b", &["x"])]);
    let merged = shop.merged(None);
    assert!(merged.is_of(|_| (0, 0)));
    shop.merged(Some(&merged));
    assert!(shop.asked.borrow().is_empty());
    shop.lists("b", tools(&["x"]));
    assert!(!merged.is_of(|server| (u64::from(**server.name() == *"b"), 0)));
}

#[test]
fn either_spelling_is_found_where_only_one_fits() {
    let shop = Shop::new(
        Style::Short,
        &[("a-b", &["x-y"]), ("a_b", &["x-y", "only-one"])],
    );
    let merged = shop.merged(None);
    let found = |name: &str| merged.find(name).map(|item| item.outward.as_str());
    assert_eq!(found("a-b__x-y"), Some("a-b__x-y"));
    assert_eq!(found("a_b__x-y"), Some("a_b__x-y"));
    assert_eq!(found("a-b__x_y"), None, "it could be either");
    assert_eq!(found("a-b__only_one"), Some("a_b__only-one"));
    assert_eq!(found("a_b__other"), None);
    let shop = Shop::new(Style::Short, &[("s", &["x-y", "x_y"])]);
    let merged = shop.merged(None);
    assert!(merged.find("s__x-y").is_some() && merged.find("s__x_y").is_some());
    assert!(merged.find("s-_x-y").is_none(), "both are spelt so");
}

#[test]
fn pages_follow_each_other_whatever_changes_between_them() {
    let servers: &[(&str, &[&str])] = &[
        ("b", &["3", "1", "2"]),
        ("a", &["2", "1"]),
        ("c", &[]),
        ("d", &["1"]),
    ];
    let mut shop = Shop::new(Style::Short, servers);
    let merged = shop.merged(None);
    for size in 1..8 {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let (page, next) = merged.page(cursor.as_ref(), size);
            assert!(page.len() <= size && !page.is_empty());
            all.extend(page.iter().map(|item| item.outward.as_str()));
            let Some(next) = next else { break };
            cursor = Some(next);
        }
        assert_eq!(all, names(&merged), "{size} on a page");
    }
    let (page, next) = merged.page(None, 3);
    assert_eq!(page.last().map(|item| item.outward.as_str()), Some("b__1"));
    // The item that it ended with goes, others come before and after it.
    shop.lists("a", tools(&["0", "1", "2", "3"]));
    shop.lists("b", tools(&["0", "2", "4"]));
    shop.lists("c", tools(&["1"]));
    let merged = shop.merged(Some(&merged));
    let (page, end) = merged.page(next.as_ref(), 10);
    let page: Vec<&str> = page.iter().map(|item| item.outward.as_str()).collect();
    assert_eq!(page, ["b__2", "b__4", "c__1", "d__1"]);
    assert_eq!(end, None);
    let of = |server: &str| Some((server.to_owned(), "9".to_owned()));
    let count = |cursor: Option<(String, String)>| merged.page(cursor.as_ref(), 10).0.len();
    assert_eq!([count(of("")), count(of("aa")), count(of("z"))], [9, 5, 0]);
}

#[test]
fn a_page_that_two_name_says_whose_it_is_as_long_as_they_do() {
    let mut shop = Shop::new(Style::Short, &[("a", &[]), ("b", &[])]);
    shop.lists("a", vec![app("x", "ui://one")]);
    let alone = shop.merged(None);
    assert!(shown(&alone)[0].1.contains("\"ui://one\""));
    shop.lists("b", vec![app("x", "ui://one")]);
    let both = shop.merged(Some(&alone));
    assert!(
        shown(&both)
            .iter()
            .all(|(_, text)| !text.contains("\"ui://one\""))
    );
    shop.lists("b", tools(&["x"]));
    let again = shop.merged(Some(&both));
    assert_eq!(shown(&again)[0], shown(&alone)[0]);
    assert_eq!(again.of_pages("x").len(), 1);
}
