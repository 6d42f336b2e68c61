//! The servers: as their pages say they are configured, with keys that open nothing.
//! In arguments, variables and calls `{work}` stands for a folder that is a repository
//! of git with one file, `hello.txt`, and a memory with one thing in it.

use super::Expected;
use super::package::{Package, npm, pypi};

/// A server, and what is asked of it.
pub struct Server {
    /// What it is called in the gateway's configuration.
    pub name: &'static str,
    pub package: Package,
    /// Its program, by the name that its package gives it.
    pub program: &'static str,
    pub args: &'static [&'static str],
    pub env: &'static [(&'static str, &'static str)],
    /// None where every tool needs a network or an account.
    pub call: Option<Call>,
    /// Small enough for the selection that is run with every change.
    pub quick: bool,
    pub expected: Expected,
}

/// A call that gives the same each time.
pub struct Call {
    pub tool: &'static str,
    /// JSON.
    pub arguments: &'static str,
    /// What its outcome says somewhere.
    pub says: &'static str,
}

const fn server(name: &'static str, package: Package, program: &'static str) -> Server {
    Server {
        name,
        package,
        program,
        args: &[],
        env: &[],
        call: None,
        quick: false,
        expected: Expected::Works,
    }
}

impl Server {
    const fn args(mut self, args: &'static [&'static str]) -> Self {
        self.args = args;
        self
    }

    const fn env(mut self, env: &'static [(&'static str, &'static str)]) -> Self {
        self.env = env;
        self
    }

    const fn call(
        mut self,
        tool: &'static str,
        arguments: &'static str,
        says: &'static str,
    ) -> Self {
        self.call = Some(Call {
            tool,
            arguments,
            says,
        });
        self
    }

    const fn fails(mut self, why: &'static str) -> Self {
        self.expected = Expected::Fails(why);
        self
    }

    const fn quick(mut self) -> Self {
        self.quick = true;
        self
    }
}

/// All of them.
pub const SERVERS: &[Server] = &[
    server(
        "everything",
        npm("@modelcontextprotocol/server-everything", "2026.8.31"),
        "mcp-server-everything",
    )
    .call("echo", r#"{"message": "a ü \u0000"}"#, "Echo: a ü")
    .quick(),
    server(
        "filesystem",
        npm("@modelcontextprotocol/server-filesystem", "2026.8.31"),
        "mcp-server-filesystem",
    )
    .args(&["{work}"])
    .call(
        "read_text_file",
        r#"{"path": "{work}/hello.txt"}"#,
        "hello from a file",
    )
    .quick(),
    server(
        "memory",
        npm("@modelcontextprotocol/server-memory", "2026.8.31"),
        "mcp-server-memory",
    )
    .env(&[("MEMORY_FILE_PATH", "{work}/memory.jsonl")])
    .call("read_graph", "{}", "hello from memory")
    .quick(),
    server(
        "thinking",
        npm(
            "@modelcontextprotocol/server-sequential-thinking",
            "2026.8.31",
        ),
        "mcp-server-sequential-thinking",
    )
    .call(
        "sequentialthinking",
        r#"{"thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}"#,
        "thoughtHistoryLength",
    ),
    server(
        "github",
        npm("@modelcontextprotocol/server-github", "2025.4.8"),
        "mcp-server-github",
    )
    .env(&[("GITHUB_PERSONAL_ACCESS_TOKEN", "opens-nothing")])
    .call("get_issue", "{}", "Invalid input"),
    server(
        "slack",
        npm("@modelcontextprotocol/server-slack", "2025.4.25"),
        "mcp-server-slack",
    )
    .env(&[
        ("SLACK_BOT_TOKEN", "xoxb-opens-nothing"),
        ("SLACK_TEAM_ID", "T0"),
    ])
    .call("slack_post_message", "{}", "Missing required arguments"),
    server(
        "postgres",
        npm("@modelcontextprotocol/server-postgres", "0.6.2"),
        "mcp-server-postgres",
    )
    .args(&["postgresql://127.0.0.1:1/none"])
    .call("query", r#"{"sql": "select 1"}"#, "ECONNREFUSED"),
    server(
        "playwright",
        npm("@playwright/mcp", "0.0.83"),
        "playwright-mcp",
    )
    .args(&[
        "--headless",
        "--isolated",
        "--no-sandbox",
        "--executable-path",
        "/usr/bin/chromium",
    ])
    .call("browser_tabs", r#"{"action": "list"}"#, "about:blank"),
    server(
        "devtools",
        npm("chrome-devtools-mcp", "1.11.0"),
        "chrome-devtools-mcp",
    )
    .args(&["--headless"])
    .call("navigate_page", r#"{"type": "sideways"}"#, "type"),
    server(
        "context7",
        npm("@upstash/context7-mcp", "4.1.1"),
        "context7-mcp",
    )
    .call("resolve-library-id", "{}", "libraryName"),
    server(
        "notion",
        npm("@notionhq/notion-mcp-server", "2.5.2"),
        "notion-mcp-server",
    )
    .env(&[("NOTION_TOKEN", "ntn_opens_nothing")]),
    server("firecrawl", npm("firecrawl-mcp", "3.26.0"), "firecrawl-mcp")
        .env(&[("FIRECRAWL_API_KEY", "fc-opens-nothing")])
        .call("firecrawl_scrape", "{}", "url"),
    server("tavily", npm("tavily-mcp", "0.2.22"), "tavily-mcp")
        .env(&[("TAVILY_API_KEY", "tvly-opens-nothing")]),
    server("sentry", npm("@sentry/mcp-server", "0.39.0"), "sentry-mcp")
        .args(&["--access-token=opens-nothing"])
        .call("search_issues", "{}", "organizationSlug"),
    server(
        "kubernetes",
        npm("mcp-server-kubernetes", "4.1.7"),
        "mcp-server-kubernetes",
    )
    .call("ping", "{}", "content"),
    server(
        "brave",
        npm("@brave/brave-search-mcp-server", "2.1.4"),
        "brave-search-mcp-server",
    )
    .env(&[("BRAVE_API_KEY", "opens-nothing")])
    .call("brave_web_search", "{}", "query"),
    server(
        "figma",
        npm("figma-developer-mcp", "0.13.2"),
        "figma-developer-mcp",
    )
    .args(&["--stdio", "--figma-api-key=opens-nothing"])
    .call("get_figma_data", "{}", "fileKey"),
    server(
        "mongodb",
        npm("mongodb-mcp-server", "3.0.4"),
        "mongodb-mcp-server",
    )
    .env(&[("MDB_MCP_TELEMETRY", "disabled")])
    .call("find", r#"{"database": "a", "collection": "b"}"#, "connect"),
    server("eslint", npm("@eslint/mcp", "0.3.13"), "mcp").call(
        "lint-files",
        r#"{"filePaths": ["{work}/hello.txt"]}"#,
        "config file",
    ),
    server(
        "git",
        pypi("mcp-server-git", "2026.10.19"),
        "mcp-server-git",
    )
    .args(&["--repository", "{work}"])
    .call(
        "git_log",
        r#"{"repo_path": "{work}", "max_count": 1}"#,
        "the first commit",
    )
    .quick(),
    server(
        "time",
        pypi("mcp-server-time", "2026.10.19"),
        "mcp-server-time",
    )
    .args(&["--local-timezone=UTC"])
    .call(
        "convert_time",
        r#"{"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}"#,
        "+9",
    )
    .quick(),
    server(
        "fetch",
        pypi("mcp-server-fetch", "2026.10.24"),
        "mcp-server-fetch",
    )
    .call("fetch", r#"{"url": "http://127.0.0.1:1/"}"#, "127.0.0.1"),
    server(
        "sqlite",
        pypi("mcp-server-sqlite", "2025.4.25").with(&["mcp==1.30.0"]),
        "mcp-server-sqlite",
    )
    .args(&["--db-path", "{work}/data.db"])
    .call("read_query", r#"{"query": "select 6 * 7 as answer"}"#, "42"),
    server(
        "sqlite-alone",
        pypi("mcp-server-sqlite", "2025.4.25"),
        "mcp-server-sqlite",
    )
    .args(&["--db-path", "{work}/alone.db"])
    .fails(
        "its package takes version 2 of the SDK, with which it does not start; directly neither",
    ),
    server(
        "aws-docs",
        pypi("awslabs.aws-documentation-mcp-server", "1.2.3"),
        "awslabs.aws-documentation-mcp-server",
    )
    .call(
        "read_documentation",
        r#"{"url": "https://example.invalid/"}"#,
        "supported domains",
    ),
    server(
        "atlassian",
        pypi("mcp-atlassian", "0.23.1"),
        "mcp-atlassian",
    )
    .env(&[
        ("JIRA_URL", "https://jira.invalid"),
        ("JIRA_PERSONAL_TOKEN", "opens-nothing"),
        ("CONFLUENCE_URL", "https://confluence.invalid"),
        ("CONFLUENCE_PERSONAL_TOKEN", "opens-nothing"),
    ])
    .call("jira_get_issue", "{}", "issue_key"),
    server("blender", pypi("blender-mcp", "2.0.0"), "blender-mcp").call(
        "get_scene_info",
        "{}",
        "Blender",
    ),
    server(
        "arxiv",
        pypi("arxiv-mcp-server", "0.8.2"),
        "arxiv-mcp-server",
    )
    .args(&["--storage-path", "{work}/papers"])
    .call("list_papers", "{}", "papers"),
    server(
        "duckduckgo",
        pypi("duckduckgo-mcp-server", "0.7.0"),
        "duckduckgo-mcp-server",
    )
    .call(
        "fetch_content",
        r#"{"url": "http://127.0.0.1:1/"}"#,
        "127.0.0.1",
    ),
    server(
        "excel",
        pypi("excel-mcp-server", "2.2.2"),
        "excel-mcp-server",
    )
    .args(&["stdio"])
    .call(
        "create_workbook",
        r#"{"path": "{work}/sheet.xlsx", "overwrite": true}"#,
        "sheet.xlsx",
    ),
];
