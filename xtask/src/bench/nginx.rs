//! nginx as a plain reverse proxy, and the certificate that both sides show.

use super::subjects::{START_LIMIT, free_port, listens};
use crate::process::Group;
use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A certificate and its key, as files.
pub struct Certificate {
    /// The certificate.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// One for `localhost`, made by `openssl` where there is none yet.
pub fn certificate(scratch: &Path) -> Result<Certificate> {
    let files = Certificate {
        cert: scratch.join("cert.pem"),
        key: scratch.join("key.pem"),
    };
    if !files.cert.exists() {
        let made = Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
            ])
            .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
            .arg("-keyout")
            .arg(&files.key)
            .arg("-out")
            .arg(&files.cert)
            .stdin(Stdio::null())
            .output()
            .context("openssl, which makes a certificate for figures with TLS")?;
        let said = String::from_utf8_lossy(&made.stderr);
        ensure!(made.status.success(), "openssl: {said}");
    }
    Ok(files)
}

/// `nginx/1.2.3`, or none where it is not installed.
pub fn version() -> Option<String> {
    let output = Command::new("nginx").arg("-v").output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(text.trim().strip_prefix("nginx version: ")?.to_owned())
}

/// nginx with kept-alive connections on both sides, as many workers as there
/// are processors, no access log, and no buffering of whole answers: what MCP
/// needs so that events arrive when they are sent.
/// With TLS: this certificate, and whether HTTP/2 is spoken.
pub fn nginx(
    upstream: &str,
    tls: Option<&(Certificate, bool)>,
    scratch: &Path,
) -> Result<(Group, String)> {
    started(Command::new("nginx"), upstream, tls, scratch)
}

/// The same by this command, which is nginx or runs it.
pub fn started(
    mut command: Command,
    upstream: &str,
    tls: Option<&(Certificate, bool)>,
    scratch: &Path,
) -> Result<(Group, String)> {
    let dir = scratch.join("nginx");
    std::fs::create_dir_all(&dir)?;
    let address = upstream.trim_start_matches("http://");
    let (address, path) = address.split_once('/').unwrap_or((address, ""));
    let port = free_port()?;
    let user = match rustix::process::geteuid().is_root() {
        true => "user root;",
        false => "",
    };
    let dir_text = dir.display();
    let (scheme, listen, files) = match tls {
        None => ("http", "", String::new()),
        Some((Certificate { cert, key }, http2)) => {
            let files = format!(
                "ssl_certificate \"{}\"; ssl_certificate_key \"{}\";",
                cert.display(),
                key.display()
            );
            ("https", if *http2 { " ssl http2" } else { " ssl" }, files)
        }
    };
    let config = format!(
        r#"{user}
daemon off;
worker_processes auto;
pid "{dir_text}/pid";
error_log stderr error;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path "{dir_text}/body";
  proxy_temp_path "{dir_text}/proxy";
  fastcgi_temp_path "{dir_text}/fastcgi";
  uwsgi_temp_path "{dir_text}/uwsgi";
  scgi_temp_path "{dir_text}/scgi";
  keepalive_requests 100000000;
  upstream echo {{
    server {address};
    keepalive 512;
    keepalive_requests 100000000;
  }}
  server {{
    listen 127.0.0.1:{port}{listen};
    {files}
    location / {{
      proxy_pass http://echo;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_buffering off;
      proxy_buffer_size 64k;
      proxy_buffers 8 64k;
    }}
  }}
}}
"#
    );
    let file = dir.join("nginx.conf");
    std::fs::write(&file, config)?;
    let log = dir.join("stderr.log");
    command
        .arg("-c")
        .arg(&file)
        .arg("-p")
        .arg(&dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log)?);
    let group = Group::spawn(&mut command)?;
    listens("nginx", port, &log, START_LIMIT)?;
    Ok((group, format!("{scheme}://127.0.0.1:{port}/{path}")))
}
