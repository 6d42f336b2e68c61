//! People whom an identity provider vouches for, with a role from a claim.

use crate::from_disk;
use ::http::Method;
use serde_json::{Value, json};
use switchboard::api::types::{
    routes::{ROUTES, Route},
    sessions::Role,
};
use switchboard_testkit::{
    HttpClient, Program,
    browser::Browser,
    oauth::Site,
    world::{World, echo, servers},
};

/// What the claim says, and what that comes to.
const PEOPLE: [(&str, Role); 4] = [
    ("nobody-special", Role::Own),
    ("guests", Role::Viewer),
    ("platform", Role::Operator),
    ("owners", Role::Admin),
];

struct Door {
    site: Site,
    url: String,
    _gateway: Program,
}

impl Door {
    async fn open() -> Self {
        let site = Site::start().await;
        let issuer = site.url("/idp").to_string();
        let world = from_disk(World::with(&servers([("left", echo(&[]))])));
        let oidc = ["--auth", "oidc", "--issuer", &issuer, "--audience", "us"];
        let roles = [
            "--role-claim=access.groups",
            "--role=guests=viewer",
            "--role=platform=operator",
            "--role=owners=admin",
        ];
        let gateway = world.gateway_with(&[&oidc[..], &roles[..]].concat()).await;
        Self {
            url: gateway.url().await,
            site,
            _gateway: gateway,
        }
    }

    async fn token(&self, groups: Value) -> String {
        let wish = json!({"kid": "idp-1", "typ": "at+jwt", "claims": {
            "iss": format!("{}/idp", self.site.base), "aud": "us", "sub": "ada",
            "access": {"groups": groups},
        }});
        self.site.token(wish).await
    }

    async fn ask(&self, token: &str, verb: &str, path: &str) -> u16 {
        let client = HttpClient::new(&format!("{}/api/v1/{path}", self.url));
        let mut client = client
            .header("content-type", "application/json")
            .header("authorization", &format!("Bearer {token}"));
        let verb = Method::from_bytes(verb.as_bytes()).expect("a verb");
        client.open(verb, &[], "{}").await.status.as_u16()
    }
}

/// A path that leads to the route.
fn path(of: &Route) -> String {
    of.path
        .replace("{segment}", "left")
        .replace("{list}", "tools")
        .replace("{verb}", "reconnect")
        .replace("{server}", "left")
        .replace("{name}", "left")
        .replace("{id}", "7")
}

#[tokio::test]
async fn a_role_from_a_claim_does_what_the_table_says() {
    let door = Door::open().await;
    for (group, role) in PEOPLE {
        let token = door.token(json!([group, "another"])).await;
        for route in ROUTES {
            if route.path == "session" && route.verb != "GET" {
                continue;
            }
            let path = path(route);
            let status = door.ask(&token, route.verb, &path).await;
            let said = format!("{} {path} as {role:?}: {status}", route.verb);
            // Nobody's role is enough for what lets commands run here.
            let is_closed = ["servers/{segment}/approve", "codes"].contains(&route.path)
                && route.verb == "POST";
            match role < route.role || is_closed {
                true => assert_eq!(status, 403, "{said}"),
                false => assert!(![401, 403, 405].contains(&status), "{said}"),
            }
        }
    }
    // The most that any value gives; and a claim that is no list of words gives nothing.
    let both = door.token(json!(["guests", "owners"])).await;
    assert_eq!(door.ask(&both, "GET", "tokens").await, 200);
    for odd in [
        json!("guests,owners"),
        json!(7),
        json!({"owners": true}),
        json!(["admin"]),
    ] {
        let token = door.token(odd).await;
        assert_eq!(door.ask(&token, "GET", "state").await, 403);
        assert_eq!(door.ask(&token, "GET", "session").await, 200);
    }
    assert_eq!(
        door.ask("forged.forged.forged", "GET", "session").await,
        401
    );
}

#[tokio::test]
async fn somebody_comes_in_by_a_token_and_sees_what_the_role_allows() {
    let door = Door::open().await;
    let page = Browser::start(1280, 900).await;
    page.open(&door.url).await;
    let token = door.token(json!(["guests"])).await;
    page.type_into("[data-testid=code]", &token).await;
    page.click("[data-testid=enter]").await;
    page.says("[data-server=left]", "left").await;
    page.run("location.hash = '#/setup/tokens'").await;
    page.says("main", "for those who may change settings").await;
    page.run("location.hash = '#/servers/left/tools/echo'")
        .await;
    page.until("return document.querySelector('[data-testid=run]')?.disabled")
        .await;
    page.run("location.hash = '#/servers/left'").await;
    page.wait("[data-testid=server-page]").await;
    assert_eq!(page.count("[data-testid^=verb-]").await, 0);
    // Whoever may do more is shown more.
    page.click("[data-testid=sign-out]").await;
    let token = door.token(json!(["platform"])).await;
    page.type_into("[data-testid=code]", &token).await;
    page.click("[data-testid=enter]").await;
    page.run("location.hash = '#/servers/left'").await;
    page.wait("[data-testid=verb-reconnect]").await;
}
