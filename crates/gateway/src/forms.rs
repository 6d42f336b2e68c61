//! The forms of what replicas tell each other and keep for each other. A replica reads all forms
//! up to its own, writes its own, and leaves alone what is newer. Whoever changes what is said
//! changes its form here.

/// One more in programs that tests make, to have two versions side by side.
const NEXT: u8 = cfg!(feature = "next-form") as u8;

/// What a replica says of itself.
pub(crate) const NODE: u8 = 1 + NEXT;

/// What is kept of a session.
pub(crate) const SESSION: u8 = 1 + NEXT;

/// How far what a replica has recorded goes.
pub(crate) const RECORD_HEAD: u8 = 1 + NEXT;
