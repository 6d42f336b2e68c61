//! What we know is nobody else's.

/// Keeps other programs of the same user out of our memory and our environment,
/// which hold tokens: they can neither be read through `/proc` nor traced, and a
/// crash leaves no core. A server could otherwise read from `/proc/PPID/environ`
/// what its own environment was spared.
///
/// Programs that we start are not hidden, but inherit the soft limit for cores.
/// An administrator can look at everything as before. Where the system refuses,
/// or knows nothing like it, nothing happens.
pub fn hide_memory() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Core).maximum;
    let current = Some(0);
    let _ = setrlimit(Resource::Core, Rlimit { current, maximum });
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
