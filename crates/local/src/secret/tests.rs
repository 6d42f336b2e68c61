use super::*;

fn line(words: &[&str]) -> String {
    arguments(words.iter().copied()).join(" ")
}

/// Twenty and more ways to write a secret into a command line. `CANARY` stands
/// for it, and whatever else is there must stay.
#[test]
fn secrets_in_arguments_are_hidden() {
    let canary = "canary-7Qd2x9Lk3Vb8";
    let plain = "wanderlust";
    for (template, secret) in [
        ("--token|CANARY", plain),
        ("--token=CANARY", plain),
        ("--api-key|CANARY", plain),
        ("--password|-CANARY", plain),
        ("--apiKey=CANARY", plain),
        ("-e|X=CANARY", plain),
        ("-e|X=CANARY", canary),
        ("-e|GITHUB_PERSONAL_ACCESS_TOKEN=CANARY", plain),
        ("--env|X=CANARY", canary),
        ("--env=API_KEY=CANARY", plain),
        ("--env=X=CANARY", canary),
        ("-k|CANARY", plain),
        ("-t|CANARY", canary),
        ("--header|Authorization: Bearer CANARY", plain),
        ("--header|Authorization:Bearer CANARY", plain),
        ("--header=X-Odd: CANARY", canary),
        ("-H|X-Api-Key: CANARY", plain),
        ("-H|Cookie: CANARY", plain),
        ("Authorization: Bearer CANARY", plain),
        ("${TOK:-CANARY}", plain),
        ("${ANY:-CANARY}", canary),
        ("--x=${TOK:-CANARY}", plain),
        ("Bearer CANARY-${X}", plain),
        ("--header|Authorization: Bearer CANARY-${X}", plain),
        ("API_KEY=CANARY", plain),
        ("PASSWORD=CANARY and more of it", plain),
        ("X=CANARY", canary),
        ("-u|me:CANARY", plain),
        ("https://user:CANARY@host/mcp", plain),
        ("https://CANARY@host/mcp", canary),
        ("https://host/mcp?api_key=CANARY&a=1", plain),
        ("https://host/mcp?a=1&x=CANARY", canary),
        ("https://host/s/CANARY/mcp", canary),
        (
            "https://host/s/CANARY/mcp",
            "9b2e4a60-1c3d-4f5e-8a7b-6c5d4e3f2a1b",
        ),
        ("https://host/CANARY/mcp", "secret-in-path-0001"),
        ("https://host/CANARY/mcp", "canary0123456789"),
        ("CANARY", "canary0123456789abcd"),
        ("https://host/mcp#access_token=CANARY", plain),
        ("postgres://me:CANARY@host:5432/db", plain),
        ("me:CANARY@host:5432", plain),
        ("client_id=me&client_secret=CANARY", plain),
        ("--dsn|me:CANARY@tcp(host)/db", plain),
        ("CANARY", canary),
        ("CANARY", "sk-live4f9a8b7c"),
        ("CANARY", "sk-ant-wanderlust"),
        ("CANARY", "ghp_wanderlust"),
        ("CANARY", "github_pat_wanderlust"),
        ("CANARY", "glpat-wanderlust"),
        ("CANARY", "xoxb-wanderlust"),
        ("CANARY", "AKIAIOSFODNN7EXAMPLE"),
        ("CANARY", "npm_a1B2c3D4e5F6g7H8"),
        ("CANARY", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"),
        ("CANARY", "9f86d081884c7d659a2feaa0c55ad015"),
        ("CANARY", "x4Kd9vQm2Lw8Zt1Rb6Yc"),
        ("sh|-c|TOKEN=CANARY exec server --port 3", plain),
        ("sh|-c|exec server --token CANARY --port 3", plain),
        (
            "sh|-c|exec server --password 'CANARY and more' --port 3",
            plain,
        ),
        ("sh|-c|curl -H 'X-Odd: CANARY' https://host", canary),
        (
            "sh|-c|curl -H \"Authorization: Bearer CANARY\" https://host",
            plain,
        ),
        ("sh|-c|docker run -e X=CANARY image", canary),
        ("--config|{\"apiKey\":\"CANARY\",\"n\":1}", plain),
        ("--config|{\\\"apiKey\\\": \\\"CANARY\\\"}", plain),
        ("--config={\"apiKey\": \"CANARY\"}", plain),
        // Filled up at its end, as base64 is.
        ("CANARY=", "q8Zx2Lp0aB7cD4eFg5Hh6Jk7"),
        ("--opt|CANARY==", "Zq8x2Lp0aB7cD4eFg5Hh6Jk7Lw"),
        ("--opt=CANARY==", "Zq8x2Lp0aB7cD4eFg5Hh6Jk7Lw"),
        ("CANARY=", "ghp_aZ09aZ09aZ09aZ09aZ09aZ09aZ09aZ09aZ09"),
        ("https://host/mcp?CANARY=", "q8Zx2Lp0aB7cD4eFg5Hh6Jk7"),
        ("https://host/CANARY==/x", "q8Zx2Lp0aB7cD4eFg5Hh6Jk7"),
        // Begins like a path, or like a variable.
        ("--api-key|/CANARY", plain),
        ("--password=./CANARY", plain),
        ("--token|CANARY", "$wanderlust"),
        ("--secret|/CANARY", "q8Zx2Lp0+aB7cD4eFg5Hh6Jk7Lw"),
        ("-HAuthorization: CANARY", plain),
        ("--proxy-user|me:CANARY", plain),
        ("--basic|me:CANARY", plain),
        ("--pwd|CANARY", plain),
        ("--key:CANARY", plain),
        ("/key:CANARY", plain),
        ("-pCANARY", "canary0Wanderlust"),
        ("<password>CANARY</password>", plain),
    ] {
        let text = template.replace("CANARY", secret);
        let words: Vec<&str> = text.split('|').collect();
        let shown = line(&words);
        assert!(!shown.contains(secret), "{template}: {shown}");
        assert!(shown.contains(HIDDEN), "{template}: {shown}");
        for word in ["wander", "canary", "and more"] {
            assert!(!shown.contains(word), "{template}: {shown}");
        }
        // What goes before it and after it is still there.
        let (before, after) = template.split_once("CANARY").unwrap();
        if let Some((before, _)) = before.rsplit_once('|') {
            assert!(
                shown.starts_with(&before.replace('|', " ")),
                "{template}: {shown}"
            );
        }
        for word in ["--port 3", "&a=1", "https://host", "image", "\"n\":1"] {
            assert!(
                !after.contains(word) || shown.contains(word),
                "{template}: {shown}"
            );
        }
    }
}

#[test]
fn harmless_arguments_stay_readable() {
    let words = [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "@modelcontextprotocol/server-sequential-thinking@2025.7.1",
        "mcp-server-git==0.6.2",
        "mcp-remote@latest",
        "npm:left-pad@1.3.0",
        "some-package@1.0.0-beta.20250618.a1b2c3d",
        "/usr/local/bin/node",
        "/home/me/.nvm/versions/node/v20.11.1/bin/node",
        "/nix/store/0c4l5i0kqz6a9x8d7v5n3m2b1p4w6r8s-python3-3.12/bin/python",
        "/tmp/.tmpAbC123xYz789/file",
        "~/work/project-2025",
        "./server.js",
        "../a/b",
        "C:\\Users\\me\\server.exe",
        "src/main.rs",
        "owner/repository-name",
        "https://mcp.example.com/mcp",
        "https://mcp.example.com:8443/v1/sse?transport=http&version=2025-06-18",
        "https://example.com/projects/1234567890/mcp",
        "https://example.com/api/tokens/list",
        "https://example.com/api-key-v2/mcp",
        "https://example.com/reports-2025/summary-2025-06-18",
        "git+https://github.com/owner/repo@0123456789abcdef0123456789abcdef01234567",
        "https://github.com/owner/repo/commit/0123456789abcdef0123456789abcdef01234567",
        "ssh://git@github.com/owner/repo.git",
        "git@github.com:owner/repo.git",
        "http://127.0.0.1:3700/mcp",
        "ghcr.io/github/github-mcp-server:v0.5.0",
        "mcp/time@sha256:9c46a918633fb474bf8035e3ee90ebac6bcf2b18ccb00679ac4c179cba0ebfcf",
        "redis:7.2-alpine@sha256:9c46a918633fb474bf8035e3ee90ebac6bcf2b18ccb00679ac4c179cba0ebfcf",
        "sha512-9c46a918633fb474bf8035e3ee90ebac6bcf2b18ccb00679ac4c179cba0ebfcf",
        "--digest",
        "9c46a918633fb474bf8035e3ee90ebac6bcf2b18ccb00679ac4c179cba0ebfcf",
        "--commit=0123456789abcdef0123456789abcdef01234567",
        "--project-id",
        "9b2e4a60-1c3d-4f5e-8a7b-6c5d4e3f2a1b",
        "--model",
        "claude-3-5-sonnet-20241022",
        "--max-tokens",
        "4096",
        "--token-file",
        "/run/secrets/token",
        "--key",
        "/etc/ssl/private/server.pem",
        "--author=me",
        "--auth-type",
        "oauth",
        "--tokenizer",
        "cl100k_base",
        "--token",
        "${GITHUB_TOKEN}",
        "--api-key=${API_KEY}",
        "--header",
        "Authorization: Bearer ${TOKEN}",
        "-H",
        "Content-Type: application/json",
        "-e",
        "GITHUB_PERSONAL_ACCESS_TOKEN",
        "-e",
        "NODE_ENV=production",
        "-e",
        "LOG_LEVEL=debug",
        "-v",
        "/home/me:/data",
        "--mount",
        "type=bind,src=/home/me,dst=/data",
        "-p",
        "8080:80",
        "-u",
        "1000:1000",
        "--user",
        "me",
        "--port",
        "3000",
        "${HOME:-/root}",
        "${PORT:-3000}",
        "${API_URL:-https://api.example.com}",
        "-m",
        "mcp_server_time",
        "--local-timezone=Europe/Berlin",
        "--transport",
        "streamable-http",
        "--locale=sk-SK",
        "sk-learn-server",
        "x86_64-unknown-linux-gnu",
        "ModelContextProtocolServer",
        "com.example.MyServerApplication2",
        "--since=2025-06-18T10:20:30Z",
        "{\"name\":\"value\",\"count\":3}",
        "print('hello, world')",
        "-c",
        "exec server --port 3 && echo done",
    ];
    for (word, shown) in words.iter().zip(arguments(words)) {
        assert_eq!(*word, shown, "of {words:?}");
    }
}

#[test]
fn sentences_stay_and_secrets_in_them_do_not() {
    for said in [
        "the token file /home/me/.local/share/switchboard/tokens/default is open to others: run chmod 600 on it",
        "there is a token \"alice\" already",
        "there is no token: run switchboard token create NAME",
        "a bearer token is missing",
        "it doesn't answer; it isn't there",
        "hint: switchboard approve x --digest 9c46a918633fb474bf8035e3ee90ebac6bcf2b18ccb00679ac4c179cba0ebfcf",
        "`npx` was not found on PATH (/usr/bin:/bin): install it",
        "2026-11-16T13:07:54.123456Z  INFO switchboard::call_log: called tool=\"files__read\" ms=12",
        "session 9b2e4a60-1c3d-4f5e-8a7b-6c5d4e3f2a1b is gone",
        "protocol revision 2025-06-18, 4096 tokens",
        "--client-secret asks for it",
        "\"1=x\" is no variable: write KEY=VALUE, the key in letters, digits and underscores",
        "write \"env\": {\"NAME\": \"value\"}",
    ] {
        assert_eq!(text(said), said);
    }
    for said in [
        "starting with --token wanderlust7",
        "Authorization: Bearer wanderlust7",
        "Bearer wanderlust7 is wrong",
        "{\"access_token\":\"wanderlust\",\"n\":1}",
        "password=wanderlust",
        "https://u:wanderlust@host/",
        "API_KEY='wanderlust7 and'",
        "got ghp_wanderlust from you",
    ] {
        let shown = text(said);
        assert!(!shown.contains("wanderlust"), "{shown}");
    }
}

/// A place in a file is no name of a secret, whatever its folders are called.
#[test]
fn places_in_files_are_shown() {
    for said in [
        "/tmp/.tmpICnkPw/settings.json:2:3: `disabledMcpServers` must be a list",
        "~/my-keys/notes.json:12: \"names\" is missing",
        "./secret/list.txt: line 3",
    ] {
        assert_eq!(text(said), said);
    }
    let shown = text("/etc/app/password=wanderlust");
    assert!(!shown.contains("wanderlust"), "{shown}");
}

#[test]
fn values_where_secrets_are_kept() {
    for (name, value, shown) in [
        ("SOME_VALUE", "canary14-env-value", HIDDEN),
        ("API_KEY", "x", HIDDEN),
        ("Authorization", "Bearer abc", "Bearer [redacted]"),
        ("Authorization", "Bearer ${T}", "Bearer ${T}"),
        (
            "Authorization",
            "Bearer ${T:-abc}",
            "Bearer ${T:-[redacted]}",
        ),
        ("X-Key", "a-${T}", "[redacted]${T}"),
        ("X-Foo", "${PFX:-}wanderlust", "${PFX:-}[redacted]"),
        ("X-Bar", "a://wanderlust", HIDDEN),
        ("PASSWORD", "$uperSecret2", HIDDEN),
        (
            "AWS_SECRET_ACCESS_KEY",
            "/Zk3bExampleKeyExampleKeyExampleKey12345",
            HIDDEN,
        ),
        ("TOKEN", "file:///wanderlust", HIDDEN),
        (
            "KEY",
            "/etc/ssl/private/server.pem",
            "/etc/ssl/private/server.pem",
        ),
        (
            "SECRET",
            "~/.config/app/secret.json",
            "~/.config/app/secret.json",
        ),
        ("HOME", "/home/me", "/home/me"),
        ("LOG", "debug", "debug"),
        ("NODE_ENV", "production", "production"),
        ("URL", "https://u:p@h/x", "https://[redacted]@h/x"),
        ("MCP_VERSION", "2025-06-18", "2025-06-18"),
    ] {
        assert_eq!(kept_value(name, value), shown, "{name}={value}");
    }
}

#[test]
fn names() {
    for name in [
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "OPENAI_API_KEY",
        "DB_PASSWORD",
        "MYSQL_PWD",
        "npm_config__authToken",
        "apiKey",
        "x-api-key",
        "--auth",
        "accesskey",
        "TOK",
        "sig",
        "Authorization",
        "Cookie",
        "clientSecret",
        "webhook",
    ] {
        assert!(is_name(name), "{name}");
    }
    for name in [
        "PWD",
        "SSH_AUTH_SOCK",
        "KEYBOARD",
        "author",
        "authority",
        "tokenizer",
        "MAX_MCP_OUTPUT_TOKENS",
        "token-file",
        "keyPath",
        "monkey",
        "client_id",
        "XDG_SESSION_TYPE",
        "PATH",
        "HOME",
        "",
    ] {
        assert!(!is_name(name), "{name}");
    }
}

#[test]
fn whatever_comes_nothing_panics() {
    for text in [
        "",
        "'",
        "\"",
        "${",
        "${}",
        "${:-}",
        "=",
        ":",
        "-",
        "--=",
        "://",
        "@",
        "a:@",
        "ä=ß",
        "-ä",
        "\u{1f980}='\u{1f980}",
        "`${`",
    ] {
        let _ = (
            super::text(text),
            command_text(text),
            address(text),
            line(&[text, text]),
        );
        let _ = (kept_value(text, text), is_value(text), is_name(text));
        // Nor is a stack used up, however often it comes: a call for each would need
        // more than a test has.
        let long = text.repeat(20_000);
        let _ = (
            super::text(&long),
            command_text(&long),
            address(&long),
            line(&["-e", &long]),
        );
        let _ = kept_value("A", &long);
    }
}

#[test]
fn what_is_known_to_be_one_is_hidden_wherever_it_is_said() {
    remember_value("MY_TOKEN", "plainknownsecret");
    remember_value("Authorization", "Bearer otherknownsecret");
    remember_value("NODE_ENV", "production");
    remember_arguments(
        None,
        [
            "--api-key",
            "thirdknownsecret",
            "--x=fine",
            "--pass=fourthknownsecret",
        ],
    );
    let said = text(
        "no such key plainknownsecret, otherknownsecret, thirdknownsecret or fourthknownsecret in production",
    );
    assert_eq!(
        said,
        "no such key [redacted], [redacted], [redacted] or [redacted] in production"
    );
}

/// Long texts take no longer than it takes to read them a few times: each of these
/// once took seconds, or would have taken days.
#[test]
fn what_is_long_is_read_quickly() {
    let token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let fill = |piece: &str| piece.repeat((1 << 18) / piece.len());
    for piece in [
        "x",
        "iVBORw0KGgo",
        "${",
        "${ ",
        "aeyJ",
        "/eyJ",
        "\"",
        "'a ",
        "=",
        "A=b",
        "&a=b",
        "ä",
        "-",
    ] {
        let long = fill(piece);
        let with = format!("{long} {token} {long}");
        let shown = text(&with);
        assert!(!shown.contains(token), "{piece}");
    }
    let filler = fill("Zm9vYmFy");
    let inside = format!("{filler}/{token}/{filler}");
    assert!(!contents(&inside).contains(token) && !text(&inside).contains(token));
    let form = format!("{}&password=wanderlust", fill("a=bcdefgh"));
    assert!(!text(&form).contains("wanderlust"));
    // Of a picture nothing is taken for a secret.
    let picture = "iVBORw0KGgo/eyJh+AKIb".repeat(10_000);
    assert_eq!(contents(&picture), picture);
    assert_eq!(text(&picture), picture);
}

#[test]
fn keys_in_files_go_from_their_beginning_to_their_end() {
    let key = "-----BEGIN PRIVATE KEY-----\n/a/plain/path\nMIIEvQ plain words\n\n-----END PRIVATE KEY-----";
    for text in [
        format!("see {key} there"),
        format!("see {} there", key.replace('\n', "\\n")),
    ] {
        for shown in [super::text(&text), command_text(&text), contents(&text)] {
            assert!(!shown.contains("plain"), "{shown}");
        }
        assert_eq!(super::text(&text), format!("see {HIDDEN} there"));
    }
    let cut_off = "see -----BEGIN PRIVATE KEY-----\n/a/plain/path\nplain";
    assert_eq!(text(cut_off), format!("see {HIDDEN}"));
}

#[test]
fn passwords_on_command_lines_in_a_text() {
    for text in [
        "I ran curl -u bob:wanderlust https://example.com",
        "curl --user bob:wanderlust x",
        "mysql -u root -pwanderlust db",
        "/usr/bin/mysqldump -pwanderlust db",
        "session_id=wanderlust",
        "Mcp-Session-Id: wanderlust1",
    ] {
        let shown = super::text(text);
        assert!(
            shown.contains(HIDDEN) && !shown.contains("wanderlust"),
            "{shown}"
        );
    }
    for text in [
        "mkdir -print x",
        "id -u bob",
        "run -u 1000:1000",
        "mysql is a database\nfind -print",
    ] {
        assert_eq!(super::text(text), text);
    }
    assert!(is_name("session_id") && is_name("sessionId") && !is_name("XDG_SESSION_ID"));
}
