//! What a server said it can do: nothing else is asked of it.

use super::{connection::Connection, hello::Hello, subscriptions::Topic};
use crate::error::CallError;
use switchboard_wire::{Method, Revision, code};

/// The capabilities that requests need, each with a bit.
const NEEDED: [&str; 4] = ["tools", "resources", "prompts", "completions"];

/// Which of them a server declared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared(u8);

impl Declared {
    pub(super) fn of(hello: &Hello) -> Self {
        let bit = |(at, name): (usize, &&str)| u8::from(hello.declares(name)) << at;
        let mut bits = NEEDED.iter().enumerate().map(bit).sum();
        // The first revision has completion and no capability for it.
        if hello.revision == Revision::V2024_11_05 {
            bits |= 1 << 3;
        }
        Self(bits)
    }

    fn has(self, capability: &str) -> bool {
        let at = NEEDED.iter().position(|name| *name == capability);
        at.is_none_or(|at| self.0 & (1 << at) != 0)
    }
}

impl Hello {
    /// Whether the server tells of changes to single resources.
    pub fn tells_of_resources(&self) -> bool {
        self.has("resources", "subscribe")
    }
}

impl Connection {
    /// Refuses a request for something that the server did not declare.
    pub(crate) fn takes(&self, method: Method) -> Result<(), CallError> {
        let (Some(capability), Some(declared)) = (method.needs_capability(), self.declared())
        else {
            return Ok(());
        };
        match declared.has(capability) {
            true => Ok(()),
            false => Err(self.not_declared(method, capability)),
        }
    }

    /// The same for what a client wants to hear of.
    pub(super) fn tells_of(&self, topic: &Topic) -> Result<(), CallError> {
        let tells = match topic {
            Topic::Resource(_) => self.hello().is_none_or(Hello::tells_of_resources),
            Topic::Task(_) => true,
        };
        match tells {
            true => Ok(()),
            false => Err(self.not_declared(Method::ResourcesSubscribe, "resources.subscribe")),
        }
    }

    fn not_declared(&self, method: Method, capability: &str) -> CallError {
        let text = format!(
            "Method not found: the server {:?} has no {} (it did not declare {capability})",
            self.server_name(),
            method.as_str()
        );
        CallError::refused(code::METHOD_NOT_FOUND, text)
    }

    /// The lists whose changes the server tells of, as a modern filter names them.
    pub(super) fn changing_lists(&self) -> impl Iterator<Item = &'static str> {
        let lists = [
            ("tools", "toolsListChanged"),
            ("prompts", "promptsListChanged"),
            ("resources", "resourcesListChanged"),
        ];
        let hello = self.hello();
        let tells = move |(list, _): &(&str, &str)| {
            hello.is_some_and(|hello| hello.has(list, "listChanged"))
        };
        lists.into_iter().filter(tells).map(|(_, name)| name)
    }
}
