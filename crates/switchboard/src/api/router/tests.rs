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
            let may = permitted(route, &who(role)).is_ok();
            assert_eq!(may, role >= route.role, "{} {}", route.verb, route.path);
        }
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
