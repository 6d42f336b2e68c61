use super::*;
use proptest::{collection::vec, prelude::*, sample::select};
use std::collections::{BTreeSet, HashSet};

const STYLES: [Style; 3] = [Style::Short, Style::Full, Style::Bare];

fn one(style: Style, server: &str, tool: &str) -> String {
    Namer::new(style, [server])
        .assign(&[(server, tool)])
        .remove(0)
}

fn long(c: char, length: usize) -> String {
    c.to_string().repeat(length)
}

/// Names that are likely to meet each other once they are joined and cut.
fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        select(vec![
            "a",
            "b",
            "c",
            "a__b",
            "b__c",
            "a__b__c",
            "a_",
            "_b",
            "__b",
            "a__",
            "a_b",
            "a-b",
            "a.b",
            "a b",
            "mcp",
            "mcp__a",
            "é",
            "世",
            "世界",
            "A",
            "x_0badcafe",
            "a__b_deadbeef",
        ])
        .prop_map(str::to_owned),
        "[ab_.-]{1,5}",
        (36usize..70, "[ab]?").prop_map(|(length, end)| long('x', length) + &end),
        (30usize..60, "[ab.]?").prop_map(|(length, end)| format!("a__{}{end}", long('y', length))),
    ]
}

/// Configured servers and the tools each of them has.
fn servers() -> impl Strategy<Value = Vec<(String, Vec<String>)>> {
    vec(
        (part(), proptest::collection::btree_set(part(), 0..6)),
        1..6,
    )
    .prop_map(|list| {
        let mut seen = HashSet::new();
        list.into_iter()
            .filter(|(server, _)| seen.insert(server.clone()))
            .map(|(server, tools)| (server, tools.into_iter().collect()))
            .collect()
    })
}

type Pair = (String, String);

fn pairs(servers: &[(String, Vec<String>)]) -> Vec<Pair> {
    servers
        .iter()
        .flat_map(|(server, tools)| tools.iter().map(|tool| (server.clone(), tool.clone())))
        .collect()
}

fn assign(namer: &Namer, pairs: &[Pair]) -> Vec<(Pair, String)> {
    let borrowed: Vec<(&str, &str)> = pairs
        .iter()
        .map(|(server, tool)| (server.as_str(), tool.as_str()))
        .collect();
    pairs.iter().cloned().zip(namer.assign(&borrowed)).collect()
}

fn namer(style: Style, servers: &[(String, Vec<String>)]) -> Namer {
    Namer::new(style, servers.iter().map(|(server, _)| server.as_str()))
}

fn assert_sound(style: Style, named: &[(Pair, String)]) {
    let distinct: BTreeSet<&Pair> = named.iter().map(|(pair, _)| pair).collect();
    let names: BTreeSet<&str> = named.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(distinct.len(), names.len(), "{style:?}: {named:#?}");
    for name in names {
        assert!(name.len() <= style.limit(), "{style:?}: {name}");
        assert_eq!(normalize(name), name);
    }
}

/// Tools whose plain names are the names that others were given: what a
/// server would list if it wanted to stand in another's place.
fn imitations(
    namer: &Namer,
    style: Style,
    servers: &[(String, Vec<String>)],
    named: &[(Pair, String)],
) -> Vec<Pair> {
    let mut found = Vec::new();
    for (server, _) in servers {
        let prefix = namer.prefix(server).unwrap();
        let head = if style == Style::Full {
            format!("mcp__{prefix}__")
        } else {
            format!("{prefix}__")
        };
        for (_, name) in named {
            found.extend(
                name.strip_prefix(&head)
                    .map(|tool| (server.clone(), tool.to_owned())),
            );
            if style == Style::Bare {
                found.push((server.clone(), name.clone()));
            }
        }
    }
    found
}

/// Whether a name could be another server's, found by looking at each.
fn ambiguous_among_all(namer: &Namer, server: &str, name: &str) -> bool {
    let own = namer.find(server).map_or(0, |server| server.head.len());
    let like_a_hash = ends_like_a_hash(name);
    namer.servers.iter().any(|other| {
        let head = other.head.as_str();
        let cut = &head[..head.len().min(least_head(namer.style))];
        other.name != server
            && ((head.len() > own && name.starts_with(head))
                || (like_a_hash && name.starts_with(cut)))
    })
}

fn spoken_of_among_all<'a>(namer: &'a Namer, name: &str) -> Option<&'a str> {
    let heads = namer.servers.iter();
    heads
        .filter(|server| name.starts_with(&server.head))
        .max_by_key(|server| server.head.len())
        .map(|server| server.name.as_str())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_pair_has_a_name_of_its_own(servers in servers()) {
        for style in STYLES {
            let namer = namer(style, &servers);
            let named = assign(&namer, &pairs(&servers));
            assert_sound(style, &named);

            let mut all = pairs(&servers);
            all.extend(imitations(&namer, style, &servers, &named));
            all.sort();
            all.dedup();
            let named = assign(&namer, &all);
            assert_sound(style, &named);
        }
    }

    #[test]
    fn what_is_looked_up_is_what_a_look_at_every_server_finds(servers in servers()) {
        for style in [Style::Short, Style::Full] {
            let namer = namer(style, &servers);
            let mut all = pairs(&servers);
            let named = assign(&namer, &all);
            all.extend(imitations(&namer, style, &servers, &named));
            for (server, tool) in all {
                let name = namer.head(style, &server) + &normalize(&tool);
                prop_assert_eq!(
                    namer.ambiguous(&server, &name),
                    ambiguous_among_all(&namer, &server, &name),
                    "{:?} {:?} {:?}", style, server, name
                );
                prop_assert_eq!(namer.speaks_of(&name), spoken_of_among_all(&namer, &name));
            }
        }
    }

    #[test]
    fn a_servers_coming_never_renames_anothers_tools(servers in servers(), live in any::<u8>()) {
        for style in [Style::Short, Style::Full] {
            let namer = namer(style, &servers);
            let mut all = pairs(&servers);
            let first = assign(&namer, &all);
            all.extend(imitations(&namer, style, &servers, &first));
            all.sort();
            all.dedup();
            let together: HashMap<Pair, String> = assign(&namer, &all).into_iter().collect();
            let is_live = |server: &str| {
                let at = servers.iter().position(|(name, _)| name == server).unwrap();
                live & (1 << at) != 0
            };
            let alone: Vec<Pair> = all.iter().filter(|(server, _)| is_live(server)).cloned().collect();
            for (pair, name) in assign(&namer, &alone) {
                prop_assert_eq!(&together[&pair], &name, "{:?} {:?}", style, pair);
            }
        }
    }

    #[test]
    fn neither_the_order_of_servers_nor_of_tools_matters(
        (servers, shuffled) in servers().prop_flat_map(|list| (Just(list.clone()), Just(list).prop_shuffle())),
    ) {
        for style in STYLES {
            let before: HashMap<_, _> = assign(&namer(style, &servers), &pairs(&servers)).into_iter().collect();
            let mut turned = pairs(&shuffled);
            turned.reverse();
            let after: HashMap<_, _> = assign(&namer(style, &shuffled), &turned).into_iter().collect();
            prop_assert_eq!(before, after);
        }
    }

    #[test]
    fn a_servers_path_segment_leads_back_to_it(servers in servers()) {
        let namer = namer(Style::Short, &servers);
        for (server, _) in &servers {
            let segment = namer.prefix(server).unwrap();
            prop_assert_eq!(normalize(segment), segment);
            prop_assert_eq!(namer.server(segment), Some(server.as_str()));
            prop_assert_eq!(namer.server(server), Some(server.as_str()));
        }
    }

    #[test]
    fn normal_text_is_safe_and_keeps_its_length_in_characters(text in any::<String>()) {
        let safe = normalize(&text);
        prop_assert!(safe.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
        prop_assert_eq!(safe.len(), text.chars().count());
        prop_assert_eq!(normalize(&safe), safe);
    }
}

/// Names as clients write them; `-` stays in what is listed (`docs/design/deviations.md`).
#[test]
fn names_as_clients_write_them() {
    assert_eq!(
        one(Style::Full, "github", "create_issue"),
        "mcp__github__create_issue"
    );
    assert_eq!(
        one(Style::Full, "slack", "search_public"),
        "mcp__slack__search_public"
    );
    assert_eq!(
        one(Style::Full, "My Server!", "do-thing"),
        "mcp__My_Server___do-thing"
    );
    assert_eq!(
        one(Style::Short, "github", "create_issue"),
        "github__create_issue"
    );
    assert_eq!(one(Style::Bare, "github", "create_issue"), "create_issue");
}

#[test]
fn underscores_on_the_border_do_not_make_two_tools_one() {
    for (first, second) in [
        (("a", "b__c"), ("a__b", "c")),
        (("a", "_b"), ("a_", "b")),
        (("a", "__b"), ("a__", "b")),
        (("a", "___b"), ("a_", "__b")),
    ] {
        for style in [Style::Short, Style::Full] {
            let namer = Namer::new(style, [first.0, second.0]);
            let names = namer.assign(&[first, second]);
            assert_ne!(names[0], names[1], "{first:?} {second:?}");
            assert_eq!(namer.assign(&[first])[0], names[0], "also alone");
            assert_eq!(namer.assign(&[second])[0], names[1], "also alone");
        }
    }
    let names = Namer::new(Style::Short, ["a", "a__b"]).assign(&[("a__b", "c"), ("a", "d")]);
    assert_eq!(
        names,
        ["a__b__c", "a__d"],
        "what is clear keeps its plain name"
    );
}

#[test]
fn dashes_and_underscores_are_different_names() {
    let namer = Namer::new(Style::Short, ["a-b", "a_b"]);
    assert_eq!(
        namer.assign(&[("a-b", "x-y"), ("a_b", "x-y"), ("a-b", "x_y")]),
        ["a-b__x-y", "a_b__x-y", "a-b__x_y"]
    );
}

#[test]
fn names_that_normalise_to_the_same_text_all_carry_a_hash() {
    let namer = Namer::new(Style::Short, ["s"]);
    let names = namer.assign(&[("s", "a.b"), ("s", "a b"), ("s", "c")]);
    assert!(
        names[0].starts_with("s__a_b_") && names[1].starts_with("s__a_b_"),
        "{names:?}"
    );
    assert_ne!(names[0], names[1]);
    assert_eq!(names[2], "s__c");
    let unicode = Namer::new(Style::Short, ["世", "界"]);
    assert_ne!(unicode.prefix("世"), unicode.prefix("界"));
    assert_eq!(unicode.server("_"), None, "ambiguous");
}

#[test]
fn a_tool_listed_twice_is_one_tool() {
    for style in STYLES {
        let namer = Namer::new(style, ["s"]);
        let plain = namer.assign(&[("s", "t")]).remove(0);
        assert_eq!(
            namer.assign(&[("s", "t"), ("s", "t")]),
            [plain.as_str(), plain.as_str()]
        );
    }
}

#[test]
fn names_are_cut_at_the_limit_and_not_before() {
    for (style, head) in [
        (Style::Short, "s__"),
        (Style::Full, "mcp__s__"),
        (Style::Bare, ""),
    ] {
        let fits = long('t', style.limit() - head.len());
        assert_eq!(one(style, "s", &fits), format!("{head}{fits}"));
        let cut = one(style, "s", &(fits.clone() + "t"));
        assert_eq!(cut.len(), style.limit());
        assert_ne!(cut, one(style, "s", &(fits + "u")));
    }
    assert_eq!(
        (
            Style::Short.limit(),
            Style::Full.limit(),
            Style::Bare.limit()
        ),
        (46, 64, 46)
    );
}

/// However long the server's name is, at least 24 characters of the tool's stay.
#[test]
fn a_long_server_leaves_room_for_its_tools() {
    let server = long('s', 70);
    for (style, head) in [
        (Style::Short, "sssssssssss__"),
        (Style::Full, "mcp__sssssss"),
    ] {
        let tool = "list_pull_requests_of_all_repositories";
        let name = one(style, &server, tool);
        assert!(name.starts_with(head), "{name}");
        assert!(name.contains(&format!("s__{}", &tool[..24])), "{name}");
        assert_eq!(name.len(), style.limit());
        let name = one(style, &server, "echo");
        assert!(name.contains("s__echo_"), "{name}");
        assert_eq!(name.len(), style.limit());
    }
    // A short server's name gives way to nothing, and nor does one that fits.
    let name = one(Style::Short, "github", &long('t', 60));
    assert!(
        name.starts_with(&format!("github__{}", long('t', 29))),
        "{name}"
    );
    let name = one(Style::Short, &long('s', 20), &long('t', 60));
    assert!(
        name.starts_with(&format!("{}__{}_", long('s', 11), long('t', 24))),
        "{name}"
    );
}

#[test]
fn bare_names_give_way_only_where_they_collide() {
    let namer = Namer::new(Style::Bare, ["a", "b", "c"]);
    let names = namer.assign(&[("a", "x"), ("b", "x"), ("c", "y")]);
    assert_eq!(names, ["a__x", "b__x", "y"]);
    let names = namer.assign(&[("a", "x"), ("b", "x"), ("c", "a__x")]);
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), 3, "{names:?}");
}

/// A server that knows the hash of another's tool cannot take its name, nor make it change.
#[test]
fn a_name_with_a_hash_cannot_be_imitated() {
    for style in [Style::Short, Style::Full] {
        let namer = Namer::new(style, ["a", "a__b"]);
        let victim = ("a", "b__c");
        let name = namer.assign(&[victim]).remove(0);
        let tail = name.rsplit_once("b__").unwrap().1.to_owned();
        let names = namer.assign(&[victim, ("a__b", &tail)]);
        assert_eq!(names[0], name);
        assert_ne!(names[1], name);
        // Where nobody can be imitated, a name that merely ends like that stays.
        assert!(one(style, "a", "report_20240101").ends_with("a__report_20240101"));
    }
}

#[test]
fn a_servers_segment_cannot_be_imitated() {
    let hashed = Namer::new(Style::Short, ["a.b", "a b"])
        .prefix("a.b")
        .unwrap()
        .to_owned();
    let namer = Namer::new(Style::Short, ["a.b", "a b", &hashed]);
    assert_eq!(namer.server(&hashed), Some(hashed.as_str()));
    assert_ne!(namer.prefix("a.b"), Some(hashed.as_str()));
    assert_eq!(namer.server(namer.prefix("a.b").unwrap()), Some("a.b"));
}

/// Found by trying: the two short hashes are the same.
#[test]
fn pairs_whose_hashes_are_the_same_still_get_two_names() {
    let (first, second) = (long('x', 60) + "24605", long('x', 60) + "123222");
    assert_eq!(
        hashed("", 46, "s", &first, 0),
        hashed("", 46, "s", &second, 0)
    );
    let namer = Namer::new(Style::Short, ["s"]);
    let names = namer.assign(&[("s", &first), ("s", &second)]);
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.len() <= Style::Short.limit()));
}
