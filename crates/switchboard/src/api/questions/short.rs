//! Questions as lists and events have them: what is long is left out, and can be fetched.

use crate::limits;
use serde::Serialize;
use switchboard_api::questions::Question;
use switchboard_local::visible;

/// The question with no more than a list needs. It says of itself that it is not all.
pub(in super::super) fn short(mut question: Question) -> Question {
    if bulk(&question) > limits::API_QUESTION_BYTES {
        question.about = None;
        question.schema = None;
        question.url = None;
        question.changes.clear();
        question.partial = true;
    }
    let mut shorten = |text: &mut String| {
        if text.chars().nth(limits::API_QUESTION_TEXT).is_some() {
            *text = visible::cut(text, limits::API_QUESTION_TEXT);
            question.partial = true;
        }
    };
    shorten(&mut question.title);
    let others = [
        &mut question.text,
        &mut question.name,
        &mut question.client,
        &mut question.server,
    ];
    others.into_iter().flatten().for_each(shorten);
    question
}

/// The same for those of a list that there is no room for.
pub(super) fn within(questions: Vec<Question>, mut room: usize) -> Vec<Question> {
    let each = questions.into_iter().map(|question| {
        let bytes = bulk(&question) + question.text.as_ref().map_or(0, String::len);
        match room.checked_sub(bytes) {
            Some(rest) => {
                room = rest;
                question
            }
            None => short(question),
        }
    });
    each.collect()
}

/// How many bytes it has that may be any number.
fn bulk(question: &Question) -> usize {
    let Question {
        about,
        schema,
        changes,
        url,
        ..
    } = question;
    length(about) + length(schema) + length(changes) + url.as_ref().map_or(0, String::len)
}

fn length(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX / 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_long_is_left_out_and_said_to_be() {
        let small = Question {
            text: Some("why".to_owned()),
            about: Some(json!({"a": 1})),
            ..Question::default()
        };
        assert_eq!(short(small.clone()), small);
        let large = Question {
            text: Some("why".to_owned()),
            about: Some(json!("x".repeat(limits::API_QUESTION_BYTES))),
            ..Question::default()
        };
        let told = short(large.clone());
        assert!(told.partial && told.about.is_none(), "{told:?}");
        assert_eq!(told.text.as_deref(), Some("why"));
        let wordy = Question {
            text: Some("ä".repeat(limits::API_QUESTION_TEXT + 1)),
            ..Question::default()
        };
        let told = short(wordy);
        assert!(told.partial && told.text.unwrap().len() < 3 * limits::API_QUESTION_TEXT);
        // In a list those that there is room for are whole.
        let room = limits::API_QUESTION_BYTES * 2;
        let all = within(vec![large.clone(), large.clone(), small.clone()], room);
        assert!(!all[0].partial && all[1].partial);
        assert_eq!(all[2], small);
    }
}
