//! How a client proves itself where servers insist: in the header, in the form,
//! in both or never in both.

use serde_json::{Value, json};
use switchboard_testkit::oauth::Site;
use switchboard_testkit::world::{World, expire, protected};

/// Signs in at such a site, calls, renews, calls, signs out. Gives how often the
/// token endpoint was asked for a code, and for a renewal.
async fn whole_way(knobs: Value) -> (u64, u64) {
    let site = Site::with(knobs.clone()).await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    let done = person.sign_in("docs").await;
    assert_eq!(done.code, Some(0), "{knobs}: {done:?}");
    assert_eq!(person.run(&["call", "docs__t"]).await.ok().out, "let in\n");
    let codes = site.count("token.authorization_code").await;
    person.age("docs", expire);
    assert_eq!(person.run(&["call", "docs__t"]).await.ok().out, "let in\n");
    let renewals = site.count("token.refresh_token").await;
    let out = person.run(&["logout", "docs"]).await.ok();
    assert!(out.out.contains("has withdrawn the tokens"), "{out:?}");
    (codes, renewals)
}

#[tokio::test]
async fn servers_that_insist_are_signed_in_to() {
    let both = json!(["client_secret_basic", "client_secret_post"]);
    let header = json!(["client_secret_basic"]);
    // As the SDK for Python does it: the id belongs in the form, always. Where the
    // form suffices it is chosen; where not, the second attempt has both.
    assert_eq!(
        whole_way(json!({"insists": "id", "methods": both})).await,
        (1, 1)
    );
    assert_eq!(
        whole_way(json!({"insists": "id", "methods": header})).await,
        (2, 1),
        "what worked is remembered"
    );
    // The other way round: whoever says it twice is refused.
    assert_eq!(
        whole_way(json!({"insists": "once", "methods": both})).await,
        (1, 1)
    );
    assert_eq!(
        whole_way(json!({"insists": "once", "methods": header})).await,
        (1, 1)
    );
}

#[tokio::test]
async fn a_client_that_is_not_accepted_is_told_so() {
    let site = Site::with(json!({"insists": "nobody", "methods": ["client_secret_basic"]})).await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    let refused = person.sign_in("docs").await;
    assert_eq!(refused.code, Some(6), "{refused:?}");
    assert!(
        refused
            .err
            .contains("does not accept us as its client: HTTP 401"),
        "{refused:?}"
    );
    assert!(refused.err.contains("nobody is known here"), "{refused:?}");
    assert!(refused.err.contains("oauth.clientId"), "{refused:?}");
    assert!(!refused.err.contains("withdrawn"), "{refused:?}");
    assert_eq!(site.count("token.authorization_code").await, 3);
}

#[tokio::test]
async fn a_registration_that_is_gone_is_made_anew() {
    let site = Site::with(json!({"methods": ["client_secret_basic"]})).await;
    let person = World::person_with(&json!({"docs": protected(&site, "/mcp")}));
    person.sign_in("docs").await.ok();
    site.turn(json!({"insists": "nobody"})).await;
    person.age("docs", expire);
    let call = person.run(&["call", "docs__t"]).await;
    assert_eq!(call.code, Some(6), "{call:?}");
    site.turn(json!({"insists": null})).await;
    let registered = site.count("register").await;
    person.sign_in("docs").await.ok();
    assert_eq!(site.count("register").await, registered + 1);
    assert_eq!(person.run(&["call", "docs__t"]).await.ok().out, "let in\n");
}
