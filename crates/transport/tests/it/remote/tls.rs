use super::ear::{Heard, Peer, target};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    server::WebPkiClientVerifier,
};
use std::{path::Path, sync::Arc};
use switchboard_transport::{
    Budget, Link, Undelivered,
    dial::{TlsFiles, Via},
    http::{HttpLink, HttpOptions, HttpTarget, SseLink},
    ws::{WsLink, WsOptions},
};
use switchboard_wire::Method;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, UnixListener},
};
use tokio_rustls::TlsAcceptor;

/// An authority and what it signs.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn signed(&self, name: &str) -> (CertificateDer<'static>, String, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()])
            .unwrap()
            .signed_by(&key, &self.0)
            .unwrap();
        (certificate.der().clone(), certificate.pem(), key)
    }

    fn file(&self, folder: &Path) -> std::path::PathBuf {
        let path = folder.join("ca.pem");
        std::fs::write(&path, self.0.pem()).unwrap();
        path
    }
}

/// A server on loopback that answers every request with an HTTP 200 and a
/// reply; where `clients` is given, only to those it signed.
async fn server(authority: &Authority, clients: Option<&Authority>) -> String {
    let (certificate, _, key) = authority.signed("127.0.0.1");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let mut roots = RootCertStore::empty();
            roots.add(clients.0.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = builder.with_single_cert(vec![certificate], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(socket).await {
                    answer(stream).await;
                }
            });
        }
    });
    address
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let body = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.flush().await;
    let _ = stream.read_u8().await;
}

fn http(target: HttpTarget) -> Peer {
    Peer::new(|ear| {
        Link::Http(HttpLink::new(
            target,
            HttpOptions::default(),
            Budget::default(),
            ear,
        ))
    })
}

fn via(tls: TlsFiles) -> Via {
    Via {
        tls,
        ..Via::default()
    }
}

async fn refused(mut peer: Peer) -> String {
    peer.ask(1, Method::Ping);
    match peer.next().await {
        Heard::Undelivered(1, Undelivered::NotSent(why)) => why.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_self_signed_server_is_refused_with_advice_and_trusted_when_named() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let address = server(&authority, None).await;
    let https = format!("https://{address}/mcp");
    for kind in ["http", "sse", "ws"] {
        // Made one by one: these links connect at once.
        let peer = Peer::new(|ear| match kind {
            "sse" => {
                let target = target(&https);
                Link::Sse(SseLink::new(
                    target,
                    HttpOptions::default(),
                    Budget::default(),
                    ear,
                ))
            }
            "ws" => {
                let target = target(&format!("wss://{address}/"));
                Link::Ws(WsLink::new(
                    target,
                    WsOptions::default(),
                    Budget::default(),
                    ear,
                ))
            }
            _ => {
                let target = target(&https);
                Link::Http(HttpLink::new(
                    target,
                    HttpOptions::default(),
                    Budget::default(),
                    ear,
                ))
            }
        });
        let why = refused(peer).await;
        assert!(why.contains("certificate is not accepted"), "{kind}: {why}");
        assert!(why.contains("\"tls\": {\"ca\": \"FILE\"}"), "{why}");
        assert!(why.contains("NODE_EXTRA_CA_CERTS"), "{why}");
    }
    let trusting = HttpTarget {
        via: via(TlsFiles {
            ca: Some(authority.file(folder.path())),
            ..TlsFiles::default()
        }),
        ..target(&https)
    };
    http(trusting.clone()).ping(1).await;
    // Another name than the certificate's is refused, whoever signed it.
    let other = HttpTarget {
        url: https.replace("127.0.0.1", "localhost").parse().unwrap(),
        ..trusting
    };
    let why = refused(http(other)).await;
    assert!(why.contains("not valid for name"), "{why}");
}

#[tokio::test]
async fn client_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let (servers, clients) = (Authority::new(), Authority::new());
    let address = server(&servers, Some(&clients)).await;
    let (_, pem, key) = clients.signed("me");
    let at = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Some(path)
    };
    let files = TlsFiles {
        ca: Some(servers.file(folder.path())),
        cert: at("me.pem", &pem),
        key: at("me.key", &key.serialize_pem()),
    };
    let known = HttpTarget {
        via: via(files.clone()),
        ..target(&format!("https://{address}/mcp"))
    };
    http(known.clone()).ping(1).await;
    let unknown = HttpTarget {
        via: via(TlsFiles {
            cert: None,
            key: None,
            ..files.clone()
        }),
        ..known.clone()
    };
    let mut peer = http(unknown);
    peer.ask(1, Method::Ping);
    assert!(matches!(peer.next().await, Heard::Undelivered(1, _)));
    let broken = HttpTarget {
        via: via(TlsFiles {
            key: at("broken.key", "no key"),
            ..files
        }),
        ..known
    };
    let why = refused(http(broken)).await;
    assert!(why.contains("the private key in"), "{why}");
}

#[tokio::test]
async fn unix_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.sock");
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            tokio::spawn(answer(socket));
        }
    });
    let socket = |path| HttpTarget {
        via: Via {
            socket: Some(path),
            ..Via::default()
        },
        ..target("http://localhost/mcp")
    };
    http(socket(path)).ping(1).await;
    let why = refused(http(socket(folder.path().join("nothing")))).await;
    assert!(why.contains("nothing"), "{why}");
}
