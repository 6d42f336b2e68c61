use super::*;
use serde_json::json;

fn change(
    file: &str,
    key: &[&str],
    listed: bool,
    text: &str,
    name: &str,
    step: Step<'_>,
) -> Result<String, EditError> {
    let key: Vec<String> = key.iter().map(|key| (*key).to_owned()).collect();
    let servers = Servers {
        file: Path::new(file),
        key: &key,
        listed,
    };
    servers.change(Some(text), name, step)
}

fn toml(text: &str, name: &str, step: Step<'_>) -> Result<String, EditError> {
    change("/c.toml", &["mcp_servers"], false, text, name, step)
}

fn yaml(text: &str, name: &str, step: Step<'_>) -> Result<String, EditError> {
    change("/c.yaml", &["extensions"], false, text, name, step)
}

fn list(text: &str, name: &str, step: Step<'_>) -> Result<String, EditError> {
    change("/c.yaml", &["mcpServers"], true, text, name, step)
}

#[test]
fn toml_keeps_all_else() {
    let entry = json!({"url": "http://x/mcp", "env": {"A B": "c"}});
    let ours = "[mcp_servers.switchboard]\nurl = \"http://x/mcp\"\nenv = { \"A B\" = \"c\" }\n";
    let put = |text: &str| toml(text, "switchboard", Step::Put(&entry));
    assert_eq!(put("").unwrap(), ours);
    let text = "# mine\nmodel = \"m\" # why\n\n[mcp_servers.a]\ncommand = \"x\"\n";
    let added = put(text).unwrap();
    assert_eq!(added, format!("{text}\n{ours}"));
    assert_eq!(put(&added).unwrap(), added, "a second time");
    // Comments behind it are those of what follows.
    let old = "[mcp_servers.switchboard]\nurl = \"old\"\n[mcp_servers.switchboard.http_headers]\na = \"b\"\n\n# about z\n[z]\nk = 1\n";
    assert_eq!(
        put(old).unwrap(),
        format!("{ours}\n# about z\n[z]\nk = 1\n")
    );
    assert_eq!(
        toml(old, "switchboard", Step::Remove).unwrap(),
        "\n# about z\n[z]\nk = 1\n"
    );
    // Other spellings of a header, lists over several lines, CR LF.
    let odd = "[ mcp_servers . 'a b' ]\r\nargs = [\r\n  \"[x]\",\r\n]\r\n[z]\r\n";
    assert_eq!(toml(odd, "a b", Step::Remove).unwrap(), "[z]\r\n");
    let off = toml(text, "a", Step::Field("enabled", Some(&json!(false)))).unwrap();
    assert!(
        off.contains("[mcp_servers.a]\nenabled = false\ncommand = \"x\"\n"),
        "{off}"
    );
    assert_eq!(toml(&off, "a", Step::Field("enabled", None)).unwrap(), text);
}

#[test]
fn toml_that_is_written_otherwise_is_left_alone() {
    for text in [
        "mcp_servers = { switchboard = { url = \"old\" } }\n",
        "[mcp_servers]\nswitchboard.url = \"old\"\n",
        "not toml",
        "mcp_servers = 1\n",
    ] {
        assert!(
            toml(text, "switchboard", Step::Put(&json!({"url": "x"}))).is_err(),
            "{text}"
        );
    }
    let inline = "[mcp_servers]\na = { command = \"x\" }\n";
    assert!(toml(inline, "a", Step::Remove).is_err());
    // Beside it there is room.
    toml(inline, "switchboard", Step::Put(&json!({"url": "x"}))).unwrap();
}

#[test]
fn yaml_keeps_all_else() {
    let entry = json!({"enabled": true, "cmd": "/s", "args": ["serve", "--gateway"], "envs": {}});
    let ours = "  switchboard:\n    enabled: true\n    cmd: /s\n    args:\n      - serve\n      - \"--gateway\"\n    envs: {}\n";
    let put = |text: &str| yaml(text, "switchboard", Step::Put(&entry));
    for (text, head) in [
        ("", ""),
        ("# only this\n", "# only this\n"),
        ("a: 1", "a: 1\n"),
        ("a: 1\nextensions:\n", "a: 1\n"),
        ("a: 1\nextensions: {}\n", "a: 1\n"),
    ] {
        assert_eq!(
            put(text).unwrap(),
            format!("{head}extensions:\n{ours}"),
            "{text}"
        );
    }
    let text = "extensions:\n    # first\n    'a':   # it\n        enabled: true  # on\n        text: |\n            b:\n\n            c\n# end\nz: 1\n";
    let added = put(text).unwrap();
    let (before, after) = text.split_at(text.find("# end").unwrap());
    let deeper = ours
        .replace("\n  ", "\n    ")
        .replacen("  switch", "    switch", 1);
    assert_eq!(added, format!("{before}{deeper}{after}"));
    assert_eq!(put(&added).unwrap(), added, "a second time");
    assert_eq!(yaml(&added, "switchboard", Step::Remove).unwrap(), text);
    let off = yaml(text, "a", Step::Field("enabled", Some(&json!(false)))).unwrap();
    assert!(
        off.contains("'a':   # it\n        enabled: false\n"),
        "{off}"
    );
    let gone = yaml(text, "a", Step::Remove).unwrap();
    assert!(gone.contains("extensions: {}\n# end\nz: 1\n"), "{gone}");
}

#[test]
fn yaml_lists_keep_all_else() {
    let entry = json!({"name": "switchboard", "type": "stdio", "command": "/s", "args": ["serve"]});
    for (text, indent) in [
        (
            "name: x\nmcpServers:\n  - name: a\n    command: x\n  # why\n  - command: y\n    name: \"b\"\nlast: 1\n",
            "  ",
        ),
        (
            "mcpServers:\n- name: a\n  command: x\n- {command: y, name: b}\n",
            "",
        ),
    ] {
        let ours = "- name: switchboard\n  type: stdio\n  command: /s\n  args:\n    - serve\n";
        let ours: String = ours
            .lines()
            .map(|line| format!("{indent}{line}\n"))
            .collect();
        let added = list(text, "switchboard", Step::Put(&entry)).unwrap();
        assert!(added.contains(&ours), "{added}");
        assert_eq!(
            list(&added, "switchboard", Step::Put(&entry)).unwrap(),
            added
        );
        assert_eq!(list(&added, "switchboard", Step::Remove).unwrap(), text);
        let without = list(text, "b", Step::Remove).unwrap();
        assert!(
            !without.contains(": y") && without.contains("name: a"),
            "{without}"
        );
    }
}

#[test]
fn yaml_that_is_written_otherwise_is_left_alone() {
    for text in [
        "extensions: {a: {cmd: x}}\n",
        "extensions: &x\n  a:\n    cmd: x\nother: *x\n",
        "extensions: 1\n",
        "- a\n",
        "a: 1\n...\n",
        "{a: 1}\n",
    ] {
        assert!(
            yaml(text, "switchboard", Step::Put(&json!({"cmd": "x"}))).is_err(),
            "{text}"
        );
    }
}

#[test]
fn an_empty_json_file_is_an_object() {
    for text in ["", "\n", "\u{feff}"] {
        let put = change(
            "/c.json",
            &["mcpServers"],
            false,
            text,
            "a",
            Step::Put(&json!({"command": "x"})),
        );
        assert!(put.unwrap().contains("\"command\": \"x\""));
    }
    for text in ["[]", "{\"mcpServers\": []}", "{"] {
        let put = change(
            "/c.json",
            &["mcpServers"],
            false,
            text,
            "a",
            Step::Put(&json!({})),
        );
        assert!(put.is_err(), "{text}");
    }
}
