//! Temporary harness.
use std::sync::Arc;
use switchboard_gateway::{Door, Gateway, GatewayOptions, faces};
use switchboard_host::{Host, ServerSpec, Target};
use switchboard_transport::{Budget, process::ServerCommand};
#[tokio::main]
async fn main() {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(std::env::var("LOG").unwrap_or("warn".into())).init();
    let mut args = std::env::args().skip(1);
    let port: u16 = args.next().unwrap().parse().unwrap();
    let mut specs = vec![];
    for a in args {
        let (name, rest) = a.split_once('=').unwrap();
        let target = if rest.starts_with("http") { Target::Http { url: rest.parse().unwrap(), headers: Default::default() } } else {
            let mut w = rest.split(' ');
            Target::Stdio(ServerCommand { program: w.next().unwrap().into(), args: w.map(Into::into).collect(), env: vec![], cwd: None })
        };
        specs.push(ServerSpec::new(name, target));
    }
    let single = (specs.len() == 1).then(|| specs[0].name.clone());
    let host = Host::new(specs, Default::default(), Budget::default());
    let gw = Gateway::new(host.clone(), GatewayOptions { version: "0".into(), single });
    let token = tokio_util::sync::CancellationToken::new();
    if port == 1 { faces::stdio::serve(gw, token).await.unwrap(); }
    else {
        let l = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        eprintln!("listening on http://{}", l.local_addr().unwrap());
        let t = token.clone();
        tokio::spawn(async move { tokio::signal::ctrl_c().await.unwrap(); t.cancel(); });
        faces::http::serve(gw, l, Door { tokens: vec![], open: true, hosts: vec![] }, token).await.unwrap();
    }
    host.close().await;
    let _ = Arc::new(0);
}
