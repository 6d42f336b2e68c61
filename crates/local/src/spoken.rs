use std::time::Duration;

/// A duration as the log has it: `820 ms`, `1.2 s`, `2 m 5 s`.
pub fn spoken(elapsed: Duration) -> String {
    let ms = elapsed.as_millis();
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{:.1} s", elapsed.as_secs_f64()),
        _ => format!("{} m {} s", elapsed.as_secs() / 60, elapsed.as_secs() % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_people_say_them() {
        for (ms, expected) in [
            (0, "0 ms"),
            (820, "820 ms"),
            (1200, "1.2 s"),
            (125_000, "2 m 5 s"),
        ] {
            assert_eq!(spoken(Duration::from_millis(ms)), expected);
        }
    }
}
