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
            "--sign-in-client=console",
            "--sign-in-param=prompt=login",
        ];
        site.turn(json!({"clients": {"console": {}}})).await;
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

impl Door {
    /// Whoever signs in from now on is in these groups, by a token with these claims besides.
    async fn is_in(&self, groups: Value, besides: Value) {
        let mut claims = json!({"aud": "us", "access": {"groups": groups}});
        for (name, value) in besides.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        self.site.turn(json!({ "idp_access": claims })).await;
    }
}

/// Asks the API who the page is.
const WHO: &str = "return await (await fetch('/api/v1/session', { headers: { authorization: `Bearer ${sessionStorage.getItem('switchboard.token')}` } })).json()";

#[tokio::test]
async fn somebody_signs_in_at_the_provider_and_is_what_the_claim_says() {
    let door = Door::open().await;
    let page = Browser::start(1280, 900).await;
    for (group, role) in PEOPLE {
        door.is_in(json!([group]), json!({})).await;
        page.open(&format!("{}/#/servers/left", door.url)).await;
        page.says("[data-testid=sign-in]", "Sign in at 127.0.0.1")
            .await;
        page.click("[data-testid=sign-in]").await;
        match role {
            Role::Own => page.says("main", "oidc:ada, without a role").await,
            // They are where they wanted to go.
            _ => page.wait("[data-testid=server-page]").await,
        }
        let who = page.run(WHO).await;
        assert_eq!(who["principal"], "oidc:ada", "{who}");
        assert_eq!(who["role"], role.word(), "{who}");
        assert_eq!(who["mayApprove"], false, "no role approves what runs here");
        // Neither the code nor the token is anywhere but in this tab.
        let left = "return [location.search, document.cookie, localStorage.length, sessionStorage.getItem('switchboard.signin')]";
        assert_eq!(page.run(left).await, json!(["", "", 0, null]));
        let verbs = page.count("[data-testid^=verb-]").await;
        assert_eq!(verbs > 0, role >= Role::Operator, "{role:?}");
        page.click("[data-testid=sign-out]").await;
        page.says("main", "You have signed out").await;
        assert_eq!(page.run("return sessionStorage.length").await, 0);
    }
    // The provider was asked as the standard says, and nothing was asked for a resource.
    let log = door.site.log().await;
    let asked = log.iter().filter(|one| one["path"] == "/idp/token");
    assert_eq!(asked.count(), PEOPLE.len(), "{log:#?}");
    let complaints = page.complaints().await;
    // That somebody without a role is refused the state is what the browser says.
    assert!(
        complaints.iter().all(|one| one.contains("403")),
        "{complaints:#?}"
    );
}

#[tokio::test]
async fn a_sign_in_that_lets_nobody_in_says_why() {
    let door = Door::open().await;
    let page = Browser::start(1280, 900).await;
    let begin = async || {
        // Elsewhere first: what the page said of the sign-in before is no answer to this one.
        page.open("about:blank").await;
        page.open(&format!("{}/#/servers", door.url)).await;
        page.click("[data-testid=sign-in]").await;
    };
    // Somebody says no at the provider.
    door.site.turn(json!({"deny": true})).await;
    begin().await;
    page.says("main", "let nobody in: access_denied").await;
    door.site.turn(json!({"deny": false})).await;
    // A token that is meant for somebody else, or is none that we can read.
    door.is_in(json!(["owners"]), json!({"aud": "another"}))
        .await;
    begin().await;
    page.says("main", "token is not taken here").await;
    page.says("main", "--sign-in-param").await;
    door.site.turn(json!({"idp_access": null})).await;
    begin().await;
    page.says("main", "token is not taken here").await;
    // Another provider answers in its place.
    door.is_in(json!(["owners"]), json!({})).await;
    door.site.turn(json!({"iss": "wrong"})).await;
    begin().await;
    page.says("main", "another identity provider").await;
    door.site.turn(json!({"iss": "right"})).await;
    // Somebody else's sign-in, which a page of theirs sends this browser back with, is
    // nobody's here: neither where this tab began none, nor where it began another.
    let script = "const said = await (await fetch('/api/v1/session/begin', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ back: location.origin + '/' }) })).json(); return said";
    let theirs = page.run(script).await;
    let back = switchboard_testkit::oauth::redirected(
        &theirs["open"]
            .as_str()
            .expect("an address")
            .parse()
            .expect("an address"),
    )
    .await;
    page.open(&back).await;
    page.says("main", "this tab did not begin that sign-in")
        .await;
    assert_eq!(page.run("return location.search").await, "");
    page.run(
        "sessionStorage.setItem('switchboard.signin', JSON.stringify({ state: 'mine', view: '' }))",
    )
    .await;
    page.open(&back).await;
    page.says("main", "this tab did not begin that sign-in")
        .await;
    assert_eq!(page.run("return sessionStorage.length").await, 0);
}

#[tokio::test]
async fn a_page_that_is_kept_open_outlives_its_token_until_somebody_signs_out() {
    let door = Door::open().await;
    let page = Browser::start(1280, 900).await;
    door.is_in(json!(["platform"]), json!({"life": 9})).await;
    page.open(&door.url).await;
    page.click("[data-testid=sign-in]").await;
    page.wait("[data-server=left]").await;
    let token = "return sessionStorage.getItem('switchboard.token')";
    let first = page.run(token).await;
    // A newer one is there before the first has ended, and nobody notices.
    page.run("location.hash = '#/servers/left/tools/echo'")
        .await;
    page.type_into("[data-path='/nonce'] textarea", "typed before")
        .await;
    let other = format!("return sessionStorage.getItem('switchboard.token') !== {first}");
    page.until(&other).await;
    assert!(door.site.count("idp.refresh_token").await >= 1);
    let shown = "return document.querySelector(\"[data-path='/nonce'] textarea\").value";
    assert_eq!(page.run(shown).await, "typed before");
    page.until("return !document.querySelector('.wrong')").await;
    page.click("[data-testid=run]").await;
    page.says("[data-testid=result]", "typed before").await;
    // Whoever signs out leaves nothing that could be renewed.
    let held = "return JSON.parse(sessionStorage.getItem('switchboard.lease')).renewal";
    let held = page.run(held).await;
    page.click("[data-testid=sign-out]").await;
    page.says("main", "You have signed out").await;
    let again = format!(
        "return (await fetch('/api/v1/session/renew', {{ method: 'POST', headers: {{ 'content-type': 'application/json' }}, body: JSON.stringify({{ renewal: {held} }}) }})).status"
    );
    assert_eq!(page.run(&again).await, 410);
}

impl Door {
    /// Asks as a page does that nobody has come in by yet.
    async fn opens(&self, path: &str, body: &Value) -> (u16, Value) {
        let mut client = HttpClient::new(&format!("{}/api/v1/{path}", self.url))
            .header("content-type", "application/json")
            .header("origin", &self.url);
        let reply = client.send(Method::POST, &[], body.to_string()).await;
        let said = serde_json::from_slice(&reply.body).unwrap_or_default();
        (reply.status.as_u16(), said)
    }

    /// Begins a sign-in and has the provider send the browser back: what ends it.
    async fn sent_back(&self) -> Value {
        let back = format!("{}/", self.url);
        let (status, begun) = self.opens("session/begin", &json!({ "back": back })).await;
        assert_eq!(status, 200, "{begun}");
        let page = begun["open"].as_str().expect("a page").parse();
        let sent = switchboard_testkit::oauth::redirected(&page.expect("an address")).await;
        let sent: url::Url = sent.parse().expect("an address");
        let said = |name: &str| {
            let mut pairs = sent.query_pairs();
            let found = pairs.find(|(key, _)| key == name);
            found.map(|(_, value)| value.into_owned())
        };
        assert!(
            !sent
                .as_str()
                .contains(begun["secret"].as_str().expect("a secret"))
        );
        json!({
            "back": back,
            "state": said("state"),
            "secret": begun["secret"],
            "code": said("code"),
            "iss": said("iss"),
        })
    }
}

#[tokio::test]
async fn a_sign_in_is_ended_once_by_the_page_that_began_it_and_comes_back_to_it() {
    let door = Door::open().await;
    door.is_in(json!(["guests"]), json!({})).await;
    let evil = json!({"back": "http://evil.example/"});
    let (status, said) = door.opens("session/begin", &evil).await;
    assert_eq!((status, &said["field"]), (400, &json!("/back")), "{said}");
    // Whoever sees the address that the browser comes back to has state and code.
    let ends = door.sent_back().await;
    let mut seen = ends.clone();
    seen.as_object_mut().expect("an object").remove("secret");
    let (status, said) = door.opens("session/finish", &seen).await;
    assert_eq!(status, 409, "{said}");
    let asked = async || door.site.count("idp.authorization_code").await;
    assert_eq!(asked().await, 0, "the provider is not asked for that");
    let (status, said) = door.opens("session/finish", &ends).await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(said["me"]["principal"], "oidc:ada");
    // And once: with a state that is known nobody has the provider asked again and again.
    for _ in 0..5 {
        assert_eq!(door.opens("session/finish", &ends).await.0, 409);
    }
    assert_eq!(asked().await, 1);
}

#[tokio::test]
async fn a_sign_in_outlives_a_provider_that_is_away_for_a_while() {
    let door = Door::open().await;
    door.is_in(json!(["guests"]), json!({})).await;
    let ends = door.sent_back().await;
    let (status, said) = door.opens("session/finish", &ends).await;
    assert_eq!(status, 200, "{said}");
    let mut renewal = said["renewal"].clone();
    for fault in [500, 503, 429] {
        door.site.turn(json!({ "idp_fault": fault })).await;
        let (status, said) = door
            .opens("session/renew", &json!({ "renewal": renewal }))
            .await;
        assert_eq!((status, &said["token"]), (200, &json!("")), "{said}");
        renewal = said["renewal"].clone();
        let ends = door.sent_back().await;
        let (status, said) = door.opens("session/finish", &ends).await;
        assert_eq!(
            (status, &said["code"]),
            (503, &json!("unavailable")),
            "{said}"
        );
    }
    door.site.turn(json!({ "idp_fault": null })).await;
    let (status, said) = door
        .opens("session/renew", &json!({ "renewal": renewal }))
        .await;
    assert_eq!(status, 200, "{said}");
    assert_ne!(said["token"], "", "{said}");
    // A newer token that is somebody else's ends it.
    let renewal = said["renewal"].clone();
    door.is_in(json!(["owners"]), json!({"sub": "eve"})).await;
    let (status, said) = door
        .opens("session/renew", &json!({ "renewal": renewal }))
        .await;
    assert_eq!(status, 410, "{said}");
}

#[tokio::test]
async fn who_is_not_let_in_is_told_why_in_the_form_that_all_refusals_have() {
    let door = Door::open().await;
    let wish = json!({"kid": "idp-1", "typ": "at+jwt", "claims": {
        "iss": format!("{}/idp", door.site.base), "aud": "us", "sub": "ada", "exp": 1000,
    }});
    let old = door.site.token(wish).await;
    for (token, why) in [
        (old.as_str(), "it has expired"),
        ("garbage", "not a signed token"),
    ] {
        let mut client = HttpClient::new(&format!("{}/api/v1/session", door.url))
            .header("authorization", &format!("Bearer {token}"));
        let reply = client.send(Method::GET, &[], "").await;
        assert_eq!(reply.status.as_u16(), 401);
        let said: Value = serde_json::from_slice(&reply.body).expect("JSON");
        let error = said["error"].as_str().expect("an error");
        assert!(error.contains(why), "{said}");
        assert_eq!(said["code"], "not-allowed");
    }
}
