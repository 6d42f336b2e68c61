//! Numbers that look random and are the same for the same seed (Vigna's splitmix64).

/// Where they come from.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// One below this.
    pub fn below(&mut self, most: usize) -> usize {
        let most = u64::try_from(most).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.number() % most).unwrap_or_default()
    }

    /// How long it takes until something happens that happens this often on average.
    pub fn wait(&mut self, mean: f64) -> f64 {
        let unit = (self.number() >> 11) as f64 / (1_u64 << 53) as f64;
        -mean * (1.0 - unit).ln()
    }
}

/// One number of another, with nothing left of its order.
pub fn mixed(number: u64) -> u64 {
    let mut z = number;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
