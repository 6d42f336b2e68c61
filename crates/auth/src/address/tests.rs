use super::*;

fn guard(base: &str) -> Guard {
    Guard::new(&Url::parse(base).unwrap(), false)
}

fn refused(guard: &Guard, url: &str) -> bool {
    guard.check(&Url::parse(url).unwrap()).is_err()
}

#[test]
fn odd_spellings_of_inner_addresses_are_seen_through() {
    let public = guard("https://mcp.example.com/mcp");
    for url in [
        "https://169.254.169.254/latest",
        "https://[::ffff:169.254.169.254]/",
        "https://[::169.254.169.254]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://[2002:a9fe:a9fe::]/",
        "https://2852039166/",
        "https://0xa9fea9fe/",
        "https://0251.0376.0251.0376/",
        "https://169.254.43518/",
        "https://127.1/",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://[::1]/",
        "https://[::ffff:7f00:1]/",
        "https://localhost/",
        "https://LOCALHOST./",
        "https://a.localhost/",
        "https://0.0.0.0/",
        "https://[::]/",
        "https://10.0.0.1/",
        "https://172.16.0.1/",
        "https://192.168.1.1/",
        "https://100.64.0.1/",
        "https://[fd00::1]/",
        "https://[fe80::1]/",
        "https://[fec0::1]/",
        "https://[2001:0:4136:e378::1]/",
        "https://[64:ff9b:1::a00:1]/",
        "https://224.0.0.1/",
        "https://255.255.255.255/",
        "http://auth.example.com/",
        "https://user@auth.example.com/",
        "https://user:pw@auth.example.com/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "ftp://auth.example.com/",
    ] {
        assert!(refused(&public, url), "{url}");
    }
    assert!(!refused(&public, "https://auth.example.com/token"));
    assert!(!refused(&public, "https://93.184.216.34/token"));
    assert!(!refused(&public, "https://[2606:4700::1111]/token"));
}

#[test]
fn a_loopback_server_may_use_loopback_and_nothing_else_within() {
    for base in [
        "http://127.0.0.1:9/mcp",
        "http://localhost:9/mcp",
        "http://[::1]:9/mcp",
    ] {
        let local = guard(base);
        assert!(!refused(&local, "http://127.0.0.1:1/token"));
        assert!(!refused(&local, "http://localhost:1/token"));
        assert!(refused(&local, "http://169.254.169.254/"));
        assert!(refused(&local, "https://10.0.0.1/"));
        assert!(refused(&local, "http://auth.example.com/"));
    }
}

#[test]
fn private_networks_only_for_servers_in_one() {
    assert!(!refused(
        &guard("https://10.1.2.3/mcp"),
        "https://10.0.0.1/"
    ));
    assert!(refused(
        &guard("https://10.1.2.3/mcp"),
        "https://127.0.0.1/"
    ));
    let named = guard("https://mcp.corp/mcp");
    let own = Url::parse("https://mcp.corp/token").unwrap();
    let other = Url::parse("https://sso.corp/token").unwrap();
    let private = "10.0.0.9".parse().unwrap();
    assert!(named.allows(private, &own).is_ok());
    assert!(named.allows(private, &other).is_err());
    assert!(named.allows("127.0.0.1".parse().unwrap(), &own).is_err());
    assert!(
        named
            .allows("169.254.169.254".parse().unwrap(), &own)
            .is_err()
    );
    let setting = Guard::new(&Url::parse("https://mcp.corp/mcp").unwrap(), true);
    assert!(setting.allows(private, &other).is_ok());
}

#[tokio::test]
async fn names_are_judged_by_what_they_resolve_to() {
    // `localhost.` aside, the hosts file is the only name service here.
    let local = guard("http://127.0.0.1:9/mcp");
    let url = Url::parse("http://localhost:80/").unwrap();
    assert!(
        local
            .resolve(&url)
            .await
            .unwrap()
            .iter()
            .all(|a| a.ip().is_loopback())
    );
    assert!(
        guard("https://mcp.example.com/")
            .resolve(&url)
            .await
            .is_err()
    );
}
