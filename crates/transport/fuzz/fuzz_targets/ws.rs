#![no_main]

#[path = "../../tests/decoders/checks.rs"]
#[allow(dead_code, reason = "each target uses its own part")]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::ws(data));
