use super::*;
use std::net::IpAddr;
use tokio::net::TcpListener;

const LIMITS: NetLimits = NetLimits {
    connect: Duration::from_secs(5),
    total: Duration::from_secs(5),
    body: 1024,
};

fn guard(base: &str, names: &[(&str, &str)]) -> Guard {
    let mut guard = Guard::new(&base.parse().unwrap(), false);
    guard.pretended = names
        .iter()
        .map(|(name, address)| ((*name).to_owned(), address.parse::<IpAddr>().unwrap()))
        .collect();
    guard
}

/// Names are judged by what they lead to, at the moment of connecting: whatever
/// a server's metadata is called, it does not get us into our own network.
#[tokio::test]
async fn fault_57_names_that_lead_inside_are_not_followed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    for inside in [
        "127.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "10.0.0.7",
        "192.168.1.1",
        "172.16.0.1",
        "100.64.0.1",
        "fd00::1",
        "fe80::1",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "255.255.255.255",
    ] {
        let guard = guard(
            "https://mcp.example.com/mcp",
            &[("login.evil.example", inside)],
        );
        let url = format!("https://login.evil.example:{port}/token")
            .parse()
            .unwrap();
        let out = Outbound::form(url, &[("refresh_token", "canary")]);
        let fault = send(&guard, &LIMITS, out).await.err().unwrap();
        assert!(matches!(fault, NetError::Refused(_)), "{inside}: {fault}");
    }
    let came = timeout(Duration::from_millis(200), listener.accept()).await;
    assert!(came.is_err(), "somebody connected");
}

/// Of several addresses only those that may be used are tried.
#[tokio::test]
async fn fault_57_one_good_address_does_not_excuse_the_others() {
    let names = [
        ("mixed.example", "10.0.0.7"),
        ("mixed.example", "203.0.114.9"),
        ("mixed.example", "127.0.0.1"),
    ];
    let guard = guard("https://mcp.example.com/mcp", &names);
    let url = "https://mixed.example/".parse().unwrap();
    let allowed = guard.resolve(&url).await.unwrap();
    assert_eq!(allowed, ["203.0.114.9:443".parse().unwrap()]);
}

/// A server on this machine may name this machine, and still nothing else inside.
#[tokio::test]
async fn fault_57_a_local_server_reaches_this_machine_alone() {
    let names = [("here.example", "127.0.0.1"), ("there.example", "10.0.0.7")];
    let guard = guard("http://127.0.0.1:1/mcp", &names);
    assert!(
        guard
            .resolve(&"https://here.example/".parse().unwrap())
            .await
            .is_ok()
    );
    assert!(
        guard
            .resolve(&"https://there.example/".parse().unwrap())
            .await
            .is_err()
    );
}
