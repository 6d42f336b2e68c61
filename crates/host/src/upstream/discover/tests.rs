use super::*;
use switchboard_wire::{ErrorObject, Id};

#[test]
fn a_refused_version_is_judged_by_the_versions_that_are_named() {
    let judged = |data: serde_json::Value| {
        let error = ErrorObject::new(code::UNSUPPORTED_VERSION, "no").with_data(data);
        refused(&Message::error(Some(&Id::number(1)), &error))
    };
    let supported =
        |versions: &[&str]| serde_json::json!({ "supported": versions, "requested": "x" });
    assert!(matches!(
        judged(supported(&["2025-11-25", "2026-07-28"])),
        Ok(Found::Again)
    ));
    assert!(matches!(
        judged(supported(&["2099-01-01", "2025-06-18"])),
        Ok(Found::Legacy)
    ));
    for unknown in [
        supported(&["2099-01-01"]),
        supported(&[]),
        serde_json::json!({}),
        serde_json::json!(7),
    ] {
        assert!(
            matches!(judged(unknown.clone()), Err(ConnectError::Failed(_))),
            "{unknown}"
        );
    }
}
