//! Rust text as the rules look at it: without comments, without tests, and with
//! texts told apart from code.

/// One line of a file.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// Its number, from one.
    pub number: usize,
    /// What the compiler sees of it, texts included.
    pub code: String,
    /// The same with every text emptied.
    pub bare: String,
    /// The texts that begin on it.
    pub texts: Vec<String>,
    /// Why it may be as it is: what stands behind `// tidy:` on it or above it.
    pub excuse: Option<String>,
}

/// What begins an excuse.
const EXCUSE: &str = "// tidy:";

/// The lines of a file. Those of its tests are there, but empty.
pub fn lines(text: &str) -> Vec<Line> {
    let mut lines = Lexer::new(text).run();
    excuse(text, &mut lines);
    without_tests(&mut lines);
    lines
}

/// An excuse counts for its own line, or for the next one where it stands alone.
fn excuse(text: &str, lines: &mut [Line]) {
    let mut above: Option<String> = None;
    for (line, raw) in lines.iter_mut().zip(text.lines()) {
        let here = raw
            .find(EXCUSE)
            .map(|at| raw[at + EXCUSE.len()..].trim().to_owned())
            .filter(|why| !why.is_empty());
        let is_comment = raw.trim_start().starts_with("//");
        match (here, is_comment) {
            (Some(why), true) => above = Some(why),
            (Some(why), false) => line.excuse = Some(why),
            // The rest of a comment that began with an excuse.
            (None, true) => {}
            (None, false) => line.excuse = above.take(),
        }
    }
}

/// Empties what stands under `#[cfg(test)]`, whatever kind of item it is.
fn without_tests(lines: &mut [Line]) {
    let mut at = 0;
    while at < lines.len() {
        if !lines[at].bare.trim_start().starts_with("#[cfg(test)]") {
            at += 1;
            continue;
        }
        let end = field(lines, at).unwrap_or_else(|| end_of_item(lines, at));
        for line in &mut lines[at..end] {
            line.code.clear();
            line.bare.clear();
            line.texts.clear();
        }
        at = end;
    }
}

/// The line after a field or an arm of one line that is under an attribute.
fn field(lines: &[Line], attribute: usize) -> Option<usize> {
    let bare = lines.get(attribute + 1)?.bare.trim();
    let is_one = bare.ends_with(',') && !bare.contains("fn ");
    is_one.then_some(attribute + 2)
}

/// The line after the item that begins (with its attributes) on this one.
pub fn end_of_item(lines: &[Line], from: usize) -> usize {
    let mut depth = 0_i64;
    for (at, line) in lines.iter().enumerate().skip(from) {
        let bare = line.bare.trim();
        for sign in bare.chars() {
            match sign {
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => depth -= 1,
                _ => {}
            }
        }
        let is_attribute = bare.starts_with("#[") && bare.ends_with(']');
        if depth <= 0 && !is_attribute && (bare.ends_with(';') || bare.ends_with('}')) {
            return at + 1;
        }
    }
    lines.len()
}

/// What a character belongs to.
enum Within {
    Code,
    Comment(usize),
    Text { hashes: Option<usize> },
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    lines: Vec<Line>,
    text_so_far: String,
    text_began: usize,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            lines: vec![Line {
                number: 1,
                ..Line::default()
            }],
            text_so_far: String::new(),
            text_began: 0,
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn run(mut self) -> Vec<Line> {
        let mut within = Within::Code;
        while let Some(sign) = self.rest().chars().next() {
            if sign == '\n' {
                if let Within::Text { .. } = within {
                    self.text_so_far.push('\n');
                }
                let number = self.lines.len() + 1;
                self.lines.push(Line {
                    number,
                    ..Line::default()
                });
                self.at += 1;
                continue;
            }
            within = match within {
                Within::Code => self.code(sign),
                Within::Comment(depth) => self.comment(sign, depth),
                Within::Text { hashes } => self.inside_text(sign, hashes),
            };
        }
        self.lines
    }

    fn code(&mut self, sign: char) -> Within {
        let rest = self.rest();
        if rest.starts_with("//") {
            self.at += rest.find('\n').unwrap_or(rest.len());
            return Within::Code;
        }
        if rest.starts_with("/*") {
            self.at += 2;
            return Within::Comment(1);
        }
        if let Some((opening, hashes)) = raw_opening(rest, self.text[..self.at].chars().last()) {
            self.emit(&rest[..opening]);
            self.begin_text();
            return Within::Text {
                hashes: Some(hashes),
            };
        }
        if sign == '"' {
            self.emit("\"");
            self.begin_text();
            return Within::Text { hashes: None };
        }
        if let Some(length) = char_literal(rest) {
            // As little part of the code as a text: it may be a bracket.
            if let Some(line) = self.lines.last_mut() {
                line.code.push_str(&rest[..length]);
                line.bare.push_str("''");
            }
            self.at += length;
            return Within::Code;
        }
        self.emit(&rest[..sign.len_utf8()]);
        Within::Code
    }

    fn comment(&mut self, sign: char, depth: usize) -> Within {
        let rest = self.rest();
        if rest.starts_with("*/") {
            self.at += 2;
            return match depth {
                1 => Within::Code,
                _ => Within::Comment(depth - 1),
            };
        }
        if rest.starts_with("/*") {
            self.at += 2;
            return Within::Comment(depth + 1);
        }
        self.at += sign.len_utf8();
        Within::Comment(depth)
    }

    fn inside_text(&mut self, sign: char, hashes: Option<usize>) -> Within {
        let rest = self.rest();
        let closing = match hashes {
            Some(hashes) => format!("\"{}", "#".repeat(hashes)),
            None => "\"".to_owned(),
        };
        if rest.starts_with(&closing) {
            let text = std::mem::take(&mut self.text_so_far);
            let began = self.text_began;
            self.lines[began].texts.push(text);
            self.emit(&closing);
            return Within::Code;
        }
        let length = match (hashes, sign) {
            (None, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            _ => sign.len_utf8(),
        };
        // An escaped line end is counted as one by the loop.
        let length = length.min(rest.find('\n').unwrap_or(rest.len()).max(1));
        self.text_so_far.push_str(&rest[..length]);
        let code = &rest[..length];
        if let Some(line) = self.lines.last_mut() {
            line.code.push_str(code);
        }
        self.at += length;
        Within::Text { hashes }
    }

    fn begin_text(&mut self) {
        self.text_so_far.clear();
        self.text_began = self.lines.len() - 1;
    }

    fn emit(&mut self, code: &str) {
        if let Some(line) = self.lines.last_mut() {
            line.code.push_str(code);
            line.bare.push_str(code);
        }
        self.at += code.len();
    }
}

/// How long the beginning of a raw text is, and how many signs close it.
fn raw_opening(rest: &str, before: Option<char>) -> Option<(usize, usize)> {
    if before.is_some_and(|sign| sign.is_alphanumeric() || sign == '_') {
        return None;
    }
    let prefix = ["r", "br", "cr"]
        .into_iter()
        .find(|prefix| rest.starts_with(prefix))?;
    let after = &rest[prefix.len()..];
    let hashes = after.chars().take_while(|sign| *sign == '#').count();
    after[hashes..]
        .starts_with('"')
        .then_some((prefix.len() + hashes + 1, hashes))
}

/// How long the character at the beginning is, if it is one and no lifetime.
fn char_literal(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let first = inner.chars().next()?;
    if first == '\\' {
        // The sign behind the backslash may be the quote itself.
        return inner[2..].find('\'').map(|end| end + 4);
    }
    inner[first.len_utf8()..]
        .starts_with('\'')
        .then_some(first.len_utf8() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_texts_and_tests_are_told_apart() {
        let text = "let a = \"x // y\"; // gone\n/* gone\n \"too\" */ let b = r#\"raw \" text\"#;\n\
                    let c = ('\"', b'\\'', 'c', &'static str);\n#[cfg(test)]\nmod tests {\n    fn f() {}\n}\nlet d;\n";
        let lines = lines(text);
        assert_eq!(lines[0].bare, "let a = \"\"; ");
        assert_eq!(lines[0].texts, ["x // y"]);
        assert_eq!(lines[1].code, "");
        assert_eq!(lines[2].texts, ["raw \" text"]);
        assert_eq!(lines[3].code, "let c = ('\"', b'\\'', 'c', &'static str);");
        assert!(lines[4..8].iter().all(|line| line.code.is_empty()));
        assert_eq!(lines[8].code, "let d;");
    }

    #[test]
    fn a_field_for_tests_ends_with_its_line() {
        let lines = lines("Self {\n    #[cfg(test)]\n    pretended: Vec::new(),\n}\nlet a;\n");
        assert_eq!((lines[2].code.as_str(), lines[3].code.as_str()), ("", "}"));
    }

    #[test]
    fn an_excuse_needs_a_reason_and_counts_for_one_line() {
        let text =
            "// tidy: because\n// of this\nlet a;\nlet b;\nlet c; // tidy: so\nlet d; // tidy:\n";
        let excuses: Vec<_> = lines(text).into_iter().map(|line| line.excuse).collect();
        assert_eq!(excuses[2].as_deref(), Some("because"));
        assert_eq!(excuses[3], None);
        assert_eq!(excuses[4].as_deref(), Some("so"));
        assert_eq!(excuses[5], None);
    }
}
