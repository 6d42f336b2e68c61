use super::*;
use std::time::Duration;

fn counted(metrics: &Metrics, server: &str, tool: &str, times: u64) {
    let server: Arc<str> = server.into();
    let cell = metrics.shared.cells.get(&server, Method::ToolsCall, tool);
    for n in 0..times {
        let ended = Ended {
            outcome: Outcome::FINE,
            number: n,
            trace: None,
            took: Duration::from_millis(3),
            at_server: Some(Duration::from_millis(2)),
            waited: Duration::ZERO,
            bytes_in: 100,
            bytes_out: 400,
        };
        metrics.shared.cells.count(cell, &ended);
    }
}

#[test]
fn what_was_counted_is_written() {
    let metrics = Metrics::default();
    counted(&metrics, "notes", "find", 4);
    let mut page = Page::new(Format::OpenMetrics);
    metrics.write(&mut page);
    let text = page.finish();
    let labels = r#"mcp_server_name="notes",mcp_method_name="tools/call",gen_ai_tool_name="find""#;
    for line in [
        format!("mcp_server_operation_duration_seconds_bucket{{{labels},le=\"0.002\"}} 0\n"),
        format!(
            "mcp_server_operation_duration_seconds_bucket{{{labels},le=\"0.005\"}} 4 # {{call=\"3\"}} 0.003\n"
        ),
        format!("mcp_server_operation_duration_seconds_count{{{labels}}} 4\n"),
        format!("mcp_server_operation_duration_seconds_sum{{{labels}}} 0.012\n"),
        format!("mcp_client_operation_duration_seconds_count{{{labels}}} 4\n"),
        format!("switchboard_response_bytes_total{{{labels}}} 1600\n"),
    ] {
        assert!(text.contains(&line), "{line}\nis not in\n{text}");
    }
}

#[test]
fn stats_are_of_the_same() {
    let metrics = Metrics::default();
    counted(&metrics, "notes", "find", 4);
    counted(&metrics, "files", "read", 1);
    let (seconds, lines) = metrics.lines();
    let stats = Stats::told(switchboard_api::insight::Metrics {
        seconds,
        lines,
        ..Default::default()
    });
    assert_eq!(stats.lines.len(), 2);
    let line = &stats.lines[1];
    assert_eq!((line.server.as_str(), line.calls), ("notes", 4));
    assert_eq!((line.bytes_out, line.tokens), (1600, 400));
    let took = line.took.p50.unwrap();
    assert!((0.002..=0.003).contains(&took), "{took}");
    let again: Stats = serde_json::from_str(&serde_json::to_string(&stats).unwrap()).unwrap();
    assert_eq!(again.lines, stats.lines);
}
