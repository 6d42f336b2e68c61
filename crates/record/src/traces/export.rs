//! What sends spans: the official exporter, over gRPC or over HTTP. HTTP goes the way
//! of all other connections, with the proxies and authorities of the environment.

use super::wanted::{Protocol, Wanted};
use crate::limits;
use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header::HOST};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use opentelemetry::KeyValue;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig, WithTonicConfig,
    tonic_types::{metadata::MetadataMap, transport::ClientTlsConfig},
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkError,
    trace::{SpanData, SpanExporter as _},
};
use switchboard_local::secret;
use switchboard_tasks as tasks;
use switchboard_transport::dial;
use tokio::time::timeout;

/// Why spans cannot be sent at all.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The exporter cannot be made.
    #[error("{}", secret::text(&.0.to_string()))]
    Exporter(#[from] ExporterBuildError),
    /// The address is none.
    #[error("{} is no address", secret::text(.0))]
    Address(String),
    /// A header cannot be sent.
    #[error("{0:?} cannot be sent as a header")]
    Header(String),
}

/// Why some spans were not sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unsent {
    /// The collector did not take them.
    #[error("{}", secret::text(&.0.to_string()))]
    Refused(#[from] OTelSdkError),
    /// It took too long.
    #[error("not within {:?}", limits::TRACE_SEND)]
    Late,
}

/// Sends spans.
pub(super) struct Exporter {
    exporter: SpanExporter,
    /// Where to, to show: scheme, host and port.
    place: String,
}

impl Exporter {
    /// Sends these, in its time.
    pub(super) async fn export(&self, batch: Vec<SpanData>) -> Result<(), Unsent> {
        let sent = timeout(limits::TRACE_SEND, self.exporter.export(batch)).await;
        Ok(sent.map_err(|_| Unsent::Late)??)
    }

    /// Where to.
    pub(super) fn place(&self) -> &str {
        &self.place
    }
}

/// Makes what was asked for. Connects to nobody yet.
pub(super) fn exporter(wanted: &Wanted) -> Result<Exporter, ExportError> {
    let bad = || ExportError::Address(wanted.endpoint.clone());
    let uri: Uri = wanted.endpoint.parse().map_err(|_| bad())?;
    let scheme = uri.scheme_str().unwrap_or_default();
    let authority = uri.authority().ok_or_else(bad)?;
    if !["http", "https"].contains(&scheme) {
        return Err(bad());
    }
    let headers = headers(wanted)?;
    let mut exporter = match wanted.protocol {
        Protocol::Grpc => {
            let builder = SpanExporter::builder()
                .with_tonic()
                .with_endpoint(&wanted.endpoint)
                .with_timeout(limits::TRACE_SEND)
                .with_metadata(MetadataMap::from_headers(headers));
            match scheme {
                "https" => {
                    let tls = ClientTlsConfig::new().with_enabled_roots();
                    builder.with_tls_config(tls).build()?
                }
                _ => builder.build()?,
            }
        }
        Protocol::Http => SpanExporter::builder()
            .with_http()
            .with_endpoint(&wanted.endpoint)
            .with_timeout(limits::TRACE_SEND)
            .with_headers(wanted.headers.iter().cloned().collect())
            .with_http_client(Client)
            .build()?,
    };
    let attributes = wanted.resource.iter();
    let attributes = attributes.map(|(name, value)| KeyValue::new(name.clone(), value.clone()));
    let resource = Resource::builder_empty().with_attributes(attributes);
    exporter.set_resource(&resource.build());
    let host = authority.host();
    let port = authority
        .port()
        .map_or(String::new(), |it| format!(":{it}"));
    Ok(Exporter {
        exporter,
        place: format!("{scheme}://{host}{port}"),
    })
}

fn headers(wanted: &Wanted) -> Result<HeaderMap, ExportError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &wanted.headers {
        let bad = || ExportError::Header(name.clone());
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        headers.insert(name, value);
    }
    Ok(headers)
}

/// One request on one connection: a batch comes every few seconds.
#[derive(Debug)]
struct Client;

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let uri = request.uri().clone();
        let stream = dial::through_proxy(&uri, limits::TRACE_CONNECT).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tasks::spawn(tasks::Kind::Background, async move {
            // Whoever waits for the answer is told.
            let _ = connection.await;
        });
        if let Some(authority) = uri.authority() {
            let host = HeaderValue::from_str(host(authority.as_str()))?;
            request.headers_mut().insert(HOST, host);
        }
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        *request.uri_mut() = path.parse()?;
        let answer = sender.send_request(request.map(Full::new)).await?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, limits::TRACE_ANSWER).collect().await?;
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}

/// An authority without who we are there.
fn host(authority: &str) -> &str {
    authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host)
}
