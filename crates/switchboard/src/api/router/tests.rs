//! Every route with every role, also those that nobody has yet.

use super::*;
use switchboard_api::sessions::Role;

fn who(role: Role) -> Who {
    Who {
        role,
        principal: "ada".into(),
        session: None,
    }
}

#[test]
fn the_table_alone_says_who_may() {
    for route in ROUTES {
        for role in [Role::Own, Role::Viewer, Role::Operator, Role::Admin] {
            for (open, edit) in [(false, true), (false, false), (true, true), (true, false)] {
                let may = permitted(May { open, edit }, route, &who(role)).is_ok();
                let edits = route.edits == Edits::Always;
                let expected = role >= route.role && (edit || !edits);
                assert_eq!(may, expected, "{} {}", route.verb, route.path);
            }
        }
        assert!(route.others >= route.role && route.others > Role::Own);
    }
}

/// Whatever changes files says so: all that is not only asked, but for what is known to
/// change nothing that lasts.
#[test]
fn what_changes_nothing_that_lasts_is_known() {
    let plain = [
        "POST calls",
        "POST apps",
        "POST calls/{id}/replay",
        "POST calls/{id}/reveal",
        "DELETE calls/{id}",
        "POST tap",
        "POST breakpoints",
        "DELETE breakpoints",
        "DELETE breakpoints/{id}",
        "POST reload",
        "POST log",
        "POST questions/{id}/reveal",
        "POST servers/{segment}/reconnect",
        "POST servers/{segment}/sign-in",
        "POST servers/{segment}/sign-out",
        "POST servers/{segment}/subscribe",
        "POST servers/{segment}/unsubscribe",
        "POST forms",
        "POST validate",
        "POST settings/read",
        "POST session",
        "POST session/begin",
        "POST session/finish",
        "POST session/renew",
        "DELETE session",
        "POST codes",
    ];
    for route in ROUTES {
        let name = format!("{} {}", route.verb, route.path);
        let is_plain = route.verb == "GET" || plain.contains(&name.as_str());
        assert_eq!(is_plain, route.edits == Edits::Never, "{name}");
    }
}

#[test]
fn answers_that_last_are_edits() {
    let route = ROUTES
        .iter()
        .find(|route| route.edits == Edits::WithALastingAnswer);
    let ask = |action: &str| {
        let body = serde_json::json!({ "action": action }).to_string();
        let who = who(Role::Admin);
        let here = switchboard_gateway::Counts::default();
        Ask::new(
            route.unwrap(),
            Vec::new(),
            who,
            here,
            String::new(),
            body.into(),
        )
    };
    let none = May {
        open: false,
        edit: false,
    };
    for (action, may) in [
        ("allow", true),
        ("deny", true),
        ("allow-always", false),
        ("deny-always", false),
        ("approve", false),
        ("reject", false),
    ] {
        assert_eq!(lasting(none, &ask(action)).is_ok(), may, "{action}");
        let all = May { edit: true, ..none };
        assert!(lasting(all, &ask(action)).is_ok());
    }
}

#[test]
fn every_route_is_found_by_its_own_path() {
    for one in ROUTES {
        let path = one.path.replace(['{', '}'], "");
        let (found, parts) = route(one.verb, &path).unwrap();
        assert_eq!((found.verb, found.path), (one.verb, one.path));
        assert_eq!(parts.len(), one.path.matches('{').count());
    }
}

#[test]
fn parts_are_what_was_meant_and_never_more_than_one() {
    let part = |path: &str| route("GET", path).map(|(_, parts)| parts);
    assert_eq!(part("servers/a%20b%2Fc").unwrap(), ["a b/c"]);
    assert_eq!(part("servers/x/stderr").unwrap(), ["x"]);
    assert_eq!(part("servers/x/tools").unwrap(), ["x", "tools"]);
    for path in [
        "servers/",
        "servers/%",
        "servers/%ff",
        "servers/a/b/c",
        "",
        "/",
        "state/",
    ] {
        assert!(part(path).is_err(), "{path}");
    }
}
