use super::*;
use switchboard_transport::Unsent;

fn undelivered(why: Undelivered) -> CallError {
    let server = "s".to_owned();
    CallError::Undelivered { server, why }
}

/// What was not carried out may be made again, what may have been only if that does
/// no harm; and only what was lost on the way is sent again by ourselves.
#[test]
fn an_error_says_whether_a_retry_is_safe() {
    let (server, reason) = ("s".to_owned(), "r".to_owned());
    let unsent = Undelivered::NotSent(Unsent::Other("no".to_owned()));
    for (fault, again, was_lost) in [
        (undelivered(unsent), Again::Safe, true),
        (undelivered(Undelivered::SessionExpired), Again::Safe, true),
        (
            undelivered(Undelivered::Unknown("cut".to_owned())),
            Again::IfRepeatable,
            true,
        ),
        (
            undelivered(Undelivered::TimedOut(Duration::ZERO)),
            Again::IfRepeatable,
            false,
        ),
        (
            undelivered(Undelivered::NeedsAuth {
                status: 401,
                challenge: None,
            }),
            Again::Useless,
            false,
        ),
        (
            CallError::Interrupted {
                server: server.clone(),
                reason: reason.clone(),
            },
            Again::IfRepeatable,
            true,
        ),
        (
            CallError::WrongForm {
                server: server.clone(),
                code: code::INVALID_PARAMS,
                reason: reason.clone(),
            },
            Again::Safe,
            true,
        ),
        (
            CallError::NotConnected { server, reason },
            Again::Safe,
            false,
        ),
        (
            CallError::refused(code::INVALID_PARAMS, "no"),
            Again::Useless,
            false,
        ),
    ] {
        assert_eq!(
            (fault.again(), fault.was_lost()),
            (again, was_lost),
            "{fault}"
        );
    }
}
