//! Things that stand between the program and a server, and remember what passes.

use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName},
};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream, UnixListener},
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// What passed, as text.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Vec<u8>>>);

impl Seen {
    fn push(&self, bytes: &[u8]) {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic")).into_owned()
    }
}

/// Copies both ways and remembers what goes up.
async fn relay(
    mut down: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    up: TcpStream,
    seen: Seen,
) {
    let (mut up_read, mut up_write) = up.into_split();
    let mut chunk = vec![0u8; 64 * 1024];
    let mut back = vec![0u8; 64 * 1024];
    loop {
        tokio::select! {
            n = down.read(&mut chunk) => match n {
                Ok(n) if n > 0 => {
                    seen.push(&chunk[..n]);
                    if up_write.write_all(&chunk[..n]).await.is_err() { return; }
                }
                _ => return,
            },
            n = up_read.read(&mut back) => match n {
                Ok(n) if n > 0 => if down.write_all(&back[..n]).await.is_err() { return; },
                _ => return,
            },
        }
    }
}

/// A listener in front of `to` (`host:port`); gives its own `host:port`.
pub async fn tap(to: &str) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (seen, to) = (Seen::default(), to.to_owned());
    let all = seen.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            if let Ok(up) = TcpStream::connect(&to).await {
                tokio::spawn(relay(socket, up, all.clone()));
            }
        }
    });
    (address, seen)
}

/// The same on a Unix socket.
pub fn unix_tap(path: &Path, to: &str) -> Seen {
    let listener = UnixListener::bind(path).expect("a socket");
    let (seen, to) = (Seen::default(), to.to_owned());
    let all = seen.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            if let Ok(up) = TcpStream::connect(&to).await {
                tokio::spawn(relay(socket, up, all.clone()));
            }
        }
    });
    seen
}

/// An authority that vouches for certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    fn issue(&self, name: &str) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        (certificate, key)
    }

    /// Its own certificate, as a file.
    pub fn write(&self, folder: &Path, name: &str) -> PathBuf {
        let file = folder.join(name);
        std::fs::write(&file, self.0.pem()).expect("a file");
        file
    }

    /// A certificate for `name` and its key, as files.
    pub fn certify(&self, name: &str, folder: &Path, cert: &str, key: &str) {
        let (certificate, secret) = self.issue(name);
        std::fs::write(folder.join(cert), certificate.pem()).expect("a file");
        std::fs::write(folder.join(key), secret.serialize_pem()).expect("a file");
    }

    /// An address of this machine that leads to `port` over TLS, if what is there
    /// shows a certificate of this authority for `name`.
    pub async fn tunnel(&self, name: &'static str, port: u16) -> String {
        self.tunnel_for(&[], name, port).await
    }

    /// The same, offering these protocols.
    pub async fn tunnel_for(&self, offers: &[&str], name: &'static str, port: u16) -> String {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("an authority");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = offers.iter().map(|offer| offer.as_bytes().into()).collect();
        let connector = TlsConnector::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let connector = connector.clone();
                tokio::spawn(async move {
                    let Ok(up) = TcpStream::connect(("127.0.0.1", port)).await else {
                        return;
                    };
                    let name = ServerName::try_from(name).expect("a name");
                    if let Ok(mut up) = connector.connect(name, up).await {
                        let _ = copy_bidirectional(&mut socket, &mut up).await;
                    }
                });
            }
        });
        address
    }
}

/// A TLS server for `name` in front of `to`; gives its address and its authority's file.
pub async fn tls(name: &str, to: &str, folder: &Path) -> (String, PathBuf, Seen) {
    let authority = Authority::new();
    let (certificate, key) = authority.issue(name);
    let file = authority.write(folder, &format!("{name}.ca.pem"));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        )
        .expect("a configuration");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let (seen, to) = (Seen::default(), to.to_owned());
    let all = seen.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, to, all) = (acceptor.clone(), to.clone(), all.clone());
            tokio::spawn(async move {
                if let (Ok(stream), Ok(up)) =
                    (acceptor.accept(socket).await, TcpStream::connect(&to).await)
                {
                    relay(stream, up, all).await;
                }
            });
        }
    });
    (address, file, seen)
}

/// A proxy that wants `credentials` (base64) and knows these places
/// (`host:port` as asked for, and where that really is).
pub async fn proxy(credentials: &str, places: &[(&str, &str)]) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let places: HashMap<String, String> = places
        .iter()
        .map(|(asked, real)| ((*asked).to_owned(), (*real).to_owned()))
        .collect();
    let (seen, wanted) = (
        Seen::default(),
        format!("proxy-authorization: basic {}", credentials.to_lowercase()),
    );
    let all = seen.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (places, wanted, all) = (places.clone(), wanted.clone(), all.clone());
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match socket.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => return,
                    }
                }
                all.push(&head);
                let text = String::from_utf8_lossy(&head).into_owned();
                if !text.to_lowercase().contains(&wanted) {
                    let _ = socket
                        .write_all(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
                        .await;
                    return;
                }
                let target = text.split(' ').nth(1).unwrap_or_default().to_owned();
                let tunnel = text.starts_with("CONNECT ");
                let place = if tunnel {
                    target.clone()
                } else {
                    let rest = target.strip_prefix("http://").unwrap_or_default();
                    format!("{}:80", rest.split('/').next().unwrap_or_default())
                };
                let Some(real) = places.get(&place) else {
                    let _ = socket
                        .write_all(b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n")
                        .await;
                    return;
                };
                let Ok(mut up) = TcpStream::connect(real).await else {
                    return;
                };
                if tunnel {
                    let _ = socket.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await;
                    relay(socket, up, all).await;
                } else {
                    // As a proxy does: the path alone goes on.
                    let path = target.splitn(4, '/').nth(3).unwrap_or_default();
                    let onward = text.replacen(&target, &format!("/{path}"), 1);
                    let _ = up.write_all(onward.as_bytes()).await;
                    let _ = copy_bidirectional(&mut socket, &mut up).await;
                }
            });
        }
    });
    (address, seen)
}
