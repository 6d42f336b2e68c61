use super::*;
use crate::{error::Blame, exchange::Reply};

fn reply(text: &str) -> Reply {
    Reply {
        message: Message::parse(text.to_owned().into()).unwrap(),
        edits: switchboard_wire::Edits::new(),
    }
}

#[test]
fn whose_fault_it_was() {
    let fine = reply(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
    assert_eq!(Ending::Reply(&fine).fault(), None);
    let failed = reply(r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}"#);
    assert_eq!(Ending::Reply(&failed).fault(), Some(Blame::Server));
    let wrong = reply(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#);
    assert_eq!(Ending::Reply(&wrong).fault(), Some(Blame::Client));
    let broken = CallError::broke_off();
    assert_eq!(Ending::Failed(&broken).fault(), Some(Blame::Us));
    assert_eq!(Ending::GivenUp.fault(), None);
}
