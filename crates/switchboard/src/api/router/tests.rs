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
        let answer = Said {
            action: action.to_owned(),
            ..Said::default()
        };
        assert_eq!(may_last(none, &answer).is_ok(), may, "{action}");
        let all = May { edit: true, ..none };
        assert!(may_last(all, &answer).is_ok());
    }
}

/// What has nothing large in it takes nothing large: it is read where others wait.
#[test]
fn bodies_are_as_large_as_what_is_in_them() {
    let large: Vec<&str> = ROUTES
        .iter()
        .filter(|route| route.body > crate::limits::API_READ_AT_ONCE)
        .map(|route| route.path)
        .collect();
    assert_eq!(
        large,
        [
            "calls",
            "calls/{id}/replay",
            "questions/{id}",
            "tools/rules",
            "forms",
            "validate",
            "pins/{server}",
            "settings/read",
            "settings/change",
        ]
    );
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
