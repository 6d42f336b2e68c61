//! Somebody who comes to a replica as a worker, by hand.

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use std::{path::Path, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

/// The status that it is answered with.
pub(super) async fn at(address: &str, pem: &Path, name: &str) -> String {
    let all: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(pem)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut roots = RootCertStore::empty();
    roots.add(all[1].clone()).unwrap();
    let key = PrivateKeyDer::from_pem_file(pem).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(vec![all[0].clone()], key)
        .unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let to = ServerName::try_from("replica.switchboard.internal").unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let mut stream = connector.connect(to, stream).await.unwrap();
    let request = format!(
        "GET /outpost HTTP/1.1\r\nhost: replica\r\nconnection: upgrade\r\n\
         upgrade: switchboard-outpost\r\nswitchboard-outpost: {name}\r\n\
         switchboard-outpost-id: {name}-1\r\nswitchboard-outpost-proof: {}\r\n\r\n",
        "0".repeat(64)
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer.to_vec()).unwrap();
    answer.rsplit(' ').next().unwrap().to_owned()
}
