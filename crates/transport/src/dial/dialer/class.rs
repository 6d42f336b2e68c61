//! Which network an address belongs to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use switchboard_wire::embedded_v4;

/// What kind of network an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The whole world's.
    Public,
    /// This machine.
    Loopback,
    /// A network of somebody's own.
    Private,
    /// Link-local (cloud metadata), unspecified, multicast, reserved.
    Never,
}

impl Class {
    /// The kind of this address.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => match embedded_v4(v6) {
                Some(v4) => Self::of_v4(v4),
                None => Self::of_v6(v6),
            },
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        let [a, b, c, _] = address.octets();
        if address.is_loopback() {
            Self::Loopback
        } else if address.is_private() || (a == 100 && (64..=127).contains(&b)) {
            Self::Private
        } else if a == 0
            || a >= 224
            || address.is_link_local()
            || (a == 198 && matches!(b, 18 | 19))
            || (a == 192 && b == 0 && matches!(c, 0 | 2))
            || (a == 198 && b == 51 && c == 100)
            || (a == 203 && b == 0 && c == 113)
        {
            Self::Never
        } else {
            Self::Public
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let segments = address.segments();
        if address.is_loopback() {
            Self::Loopback
        } else if segments[0] & 0xfe00 == 0xfc00 {
            Self::Private
        } else if address.is_unspecified()
            || address.is_multicast()
            || segments[0] & 0xffc0 == 0xfe80
            // Site-local, as it once was.
            || segments[0] & 0xffc0 == 0xfec0
            // Teredo and local NAT64 hide an address that cannot be judged.
            || segments[..2] == [0x2001, 0]
            || segments[..2] == [0x2001, 0xdb8]
            || segments[..3] == [0x64, 0xff9b, 1]
        {
            Self::Never
        } else {
            Self::Public
        }
    }
}
