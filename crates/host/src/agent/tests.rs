use super::events::spoken;
use std::time::Duration;

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
