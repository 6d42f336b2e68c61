//! The `auth/*` scenarios: signing in through `switchboard-auth`, with nobody at
//! the browser. The suite's authorization page redirects straight away, so a
//! request for it gives what a person would paste.

use crate::peer::Peer;
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use switchboard_auth::{
    AnyError, Authority, ClientCredentials, ClientProof, Enterprise, Grant, IdentityProvider,
    OauthSettings, Secret, Server, TokenStore, Vault, Visit, Workload,
};
use switchboard_host::catalog::List;
use switchboard_transport::http::BoxFuture;
use switchboard_wire::Revision;
use url::Url;

/// The address of the client metadata document that the suite expects.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Scenarios in which being let in would be the mistake.
const TO_BE_REFUSED: [&str; 7] = [
    "auth/scope-retry-limit",
    "auth/resource-mismatch",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
    "auth/metadata-issuer-mismatch",
];

/// Does what an `auth/*` scenario is about.
pub async fn run(scenario: &str, url: http::Uri, revision: Revision, given: &Value) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = Server {
        name: "suite".into(),
        url: Url::parse(&url.to_string())?,
        config_hash: String::new(),
    };
    let authority = Authority::builder(server, Vault::open(folder.path(), TokenStore::File))
        .settings(settings(revision, given)?)
        .grant(grant(given)?)
        .attended(nobody())
        .build();
    let peer = Peer::authorized(url, revision, Some(Arc::new(authority)));
    let done = converse(&peer).await;
    peer.close().await;
    match (done, TO_BE_REFUSED.contains(&scenario)) {
        (Err(_), true) => Ok(()),
        (Ok(()), true) => bail!("{scenario}: we were let in"),
        (done, false) => done,
    }
}

/// Enough of a conversation to be asked for everything that a scenario asks for.
async fn converse(peer: &Peer) -> Result<()> {
    for _ in 0..2 {
        for tool in peer.list(List::Tools).await? {
            peer.call(&tool.key, "{}").await?;
        }
    }
    Ok(())
}

fn settings(revision: Revision, given: &Value) -> Result<OauthSettings> {
    let text = |name: &str| given[name].as_str();
    // Without an issuer the credentials belong to another grant.
    let by_hand = text("issuer").is_some();
    Ok(OauthSettings {
        client_id: text("client_id").filter(|_| by_hand).map(str::to_owned),
        client_secret: text("client_secret").filter(|_| by_hand).map(Secret::new),
        issuer: text("issuer").map(str::to_owned),
        client_metadata_url: Some(DOCUMENT.parse()?),
        legacy_endpoints: revision == Revision::V2025_03_26,
        patience: Duration::from_secs(10),
        ..OauthSettings::default()
    })
}

/// In whose name, by what the scenario gives along.
fn grant(given: &Value) -> Result<Grant> {
    let text = |name: &str| given[name].as_str().map(str::to_owned);
    let id = text("client_id");
    if let Some(token) = text("valid_jwt") {
        let token = Secret::new(token);
        let source = move || -> BoxFuture<'static, Result<Secret, AnyError>> {
            let token = token.clone();
            Box::pin(async move { Ok(token) })
        };
        return Ok(Grant::Workload(Workload {
            client_id: id,
            assertion: Arc::new(source),
        }));
    }
    if let Some(token) = text("idp_id_token") {
        return Ok(Grant::Enterprise(Enterprise {
            idp: IdentityProvider {
                issuer: text("idp_issuer").context("idp_issuer")?.parse()?,
                client_id: text("idp_client_id").context("idp_client_id")?,
                client_secret: None,
                callback_port: None,
                scopes: Vec::new(),
                id_token: Some(Secret::new(token)),
            },
            client_id: id.context("client_id")?,
            client_secret: text("client_secret").map(Secret::new),
        }));
    }
    let proof = match (
        text("private_key_pem"),
        text("client_secret"),
        text("issuer"),
    ) {
        (Some(pem), ..) => ClientProof::PrivateKey {
            pem: Secret::new(pem),
            algorithm: text("signing_algorithm").unwrap_or_else(|| "ES256".into()),
        },
        (None, Some(secret), None) => ClientProof::Secret(Secret::new(secret)),
        _ => return Ok(Grant::Person),
    };
    Ok(Grant::Client(ClientCredentials {
        client_id: id.context("client_id")?,
        proof,
    }))
}

/// A browser without anybody before it.
fn nobody() -> Visit {
    Visit::Paste(Arc::new(|page| {
        Box::pin(async move { Ok(redirected(&page).await?) })
    }))
}

/// Where a page redirects to.
async fn redirected(page: &Url) -> Result<String> {
    let host = page.host_str().context("a page without a host")?;
    let port = page
        .port_or_known_default()
        .context("a page without a port")?;
    let socket = tokio::net::TcpStream::connect((host, port)).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
    let driver = tokio::spawn(connection);
    let path = format!("{}?{}", page.path(), page.query().unwrap_or_default());
    let request = Request::get(path)
        .header("host", format!("{host}:{port}"))
        .body(Empty::<Bytes>::new())?;
    let answer = sender.send_request(request).await?;
    driver.abort();
    let location = answer.headers().get("location");
    let location = location.with_context(|| format!("the page answered {}", answer.status()))?;
    Ok(location.to_str()?.to_owned())
}
