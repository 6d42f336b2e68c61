//! Which signals we were told to ignore.

/// A set of signals.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signals(u64);

impl Signals {
    /// Whether the signal of this number is among them.
    pub fn contains(self, number: i32) -> bool {
        (1..=64).contains(&number) && self.0 & (1 << (number - 1)) != 0
    }
}

/// Signals that this program was told to ignore when it was started, by `nohup`
/// for one; none where the system does not say.
pub fn ignored() -> Signals {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    of(&status)
}

fn of(status: &str) -> Signals {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    Signals(mask.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn the_bits_of_the_mask_are_signals() {
        let ignored = of("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\tffff\n");
        assert!(ignored.contains(1) && ignored.contains(13));
        assert!(!ignored.contains(2) && !ignored.contains(0) && !ignored.contains(65));
        assert!(!of("").contains(1));
    }
}
