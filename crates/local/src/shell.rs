//! Words as they are typed into a shell.

/// A word as a shell takes it: as it is where it has nothing but letters, digits and what is
/// in `plain`, in quotes otherwise.
pub fn quoted(word: &str, plain: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || plain.contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
