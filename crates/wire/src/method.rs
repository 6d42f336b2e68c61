//! The methods of the protocol, all revisions together.

use crate::{
    json::{loose_text, text},
    reading::{same_name, taken_for},
};

macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// A method that we know by name; everything else is [`Method::Other`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Method {
            $($(#[$doc])* #[doc = concat!("`", $text, "`")] $name,)*
            /// A method we do not know. Its name is in the message.
            Other,
        }

        impl Method {
            /// All that we know by name.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The method of this name.
            pub fn parse(text: &str) -> Self {
                match text {
                    $($text => Self::$name,)*
                    _ => Self::Other,
                }
            }

            /// Its name on the wire; empty for [`Method::Other`].
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other => "",
                }
            }
        }
    };
}

methods! {
    Initialize = "initialize",
    Ping = "ping",
    Discover = "server/discover",
    ToolsList = "tools/list",
    ToolsCall = "tools/call",
    ResourcesList = "resources/list",
    ResourceTemplatesList = "resources/templates/list",
    ResourcesRead = "resources/read",
    ResourcesSubscribe = "resources/subscribe",
    ResourcesUnsubscribe = "resources/unsubscribe",
    PromptsList = "prompts/list",
    PromptsGet = "prompts/get",
    Complete = "completion/complete",
    SetLevel = "logging/setLevel",
    Listen = "subscriptions/listen",
    TasksGet = "tasks/get",
    TasksResult = "tasks/result",
    TasksList = "tasks/list",
    TasksCancel = "tasks/cancel",
    TasksUpdate = "tasks/update",
    /// The skills extension (SEP-2640):
    SkillsList = "skills/list",
    ElicitationCreate = "elicitation/create",
    SamplingCreateMessage = "sampling/createMessage",
    RootsList = "roots/list",
    Initialized = "notifications/initialized",
    Cancelled = "notifications/cancelled",
    Progress = "notifications/progress",
    LogMessage = "notifications/message",
    ToolsListChanged = "notifications/tools/list_changed",
    ResourcesListChanged = "notifications/resources/list_changed",
    ResourceUpdated = "notifications/resources/updated",
    PromptsListChanged = "notifications/prompts/list_changed",
    RootsListChanged = "notifications/roots/list_changed",
    ElicitationComplete = "notifications/elicitation/complete",
    TaskStatus = "notifications/tasks/status",
    TaskNews = "notifications/tasks",
    SubscriptionAcknowledged = "notifications/subscriptions/acknowledged",
    CancelRequest = "$/cancelRequest",
    DollarProgress = "$/progress",
}

/// A method that readers could disagree about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnclearMethod {
    /// It ends sooner for some readers than for us.
    #[error("the method has U+0000 in it")]
    Ends,
    /// Some readers take it for this one, which we know.
    #[error("a method that some readers take for {0:?}: write it exactly so")]
    Like(&'static str),
}

impl Method {
    /// The method of a message, by its string token. One that we do not know must not
    /// be one to somebody else that we do know: it would be decided about as the one
    /// and carried out as the other.
    pub fn read(token: &[u8]) -> Result<Self, UnclearMethod> {
        let name = loose_text(token);
        let method = Self::parse(&name);
        if method != Self::Other {
            return Ok(method);
        }
        if name.contains('\0') {
            return Err(UnclearMethod::Ends);
        }
        let like = Self::ALL
            .iter()
            .find(|known| taken_for(&name, known.as_str()));
        match like {
            Some(known) => Err(UnclearMethod::Like(known.as_str())),
            None => Ok(Self::Other),
        }
    }

    /// The method whose string token this is.
    pub fn from_token(token: &[u8]) -> Option<Self> {
        text(token).map(|text| Self::parse(&text))
    }

    /// Whether messages of this method carry no id and get no answer. Nobody can
    /// tell of one that we do not know.
    pub const fn is_notification(self) -> bool {
        matches!(
            self,
            Self::Initialized
                | Self::Cancelled
                | Self::Progress
                | Self::LogMessage
                | Self::ToolsListChanged
                | Self::ResourcesListChanged
                | Self::ResourceUpdated
                | Self::PromptsListChanged
                | Self::RootsListChanged
                | Self::ElicitationComplete
                | Self::TaskStatus
                | Self::TaskNews
                | Self::SubscriptionAcknowledged
                | Self::CancelRequest
                | Self::DollarProgress
        )
    }

    /// Whether a server asks its client for input by this request.
    pub fn asks_for_input(self) -> bool {
        matches!(
            self,
            Self::ElicitationCreate | Self::SamplingCreateMessage | Self::RootsList
        )
    }

    /// Whether it tells that a list of the server's is another one now.
    pub fn is_list_change(self) -> bool {
        matches!(
            self,
            Self::ToolsListChanged | Self::ResourcesListChanged | Self::PromptsListChanged
        )
    }

    /// Whether only servers send it, and clients never.
    pub fn comes_from_servers(self) -> bool {
        self.asks_for_input()
            || self.is_list_change()
            || matches!(
                self,
                Self::LogMessage
                    | Self::ResourceUpdated
                    | Self::ElicitationComplete
                    | Self::TaskNews
                    | Self::SubscriptionAcknowledged
            )
    }

    /// Whether a modern server may answer this request with `input_required`.
    pub fn may_need_input(self) -> bool {
        matches!(
            self,
            Self::ToolsCall | Self::ResourcesRead | Self::PromptsGet
        )
    }

    /// Whether a method that we do not know by this name is one about tasks, to
    /// whoever knows it.
    pub fn is_of_tasks(name: &str) -> bool {
        let name = same_name(name);
        let name = name.strip_prefix("notifications/").unwrap_or(&name);
        name == "tasks" || name.starts_with("tasks/")
    }

    /// Whether it asks about one task, by its id.
    pub fn is_about_task(self) -> bool {
        matches!(
            self,
            Self::TasksGet | Self::TasksResult | Self::TasksCancel | Self::TasksUpdate
        )
    }

    /// Whether it tells how a task is doing.
    pub fn tells_of_task(self) -> bool {
        matches!(self, Self::TaskStatus | Self::TaskNews)
    }

    /// Which parameter the modern `Mcp-Name` header mirrors, if any.
    pub fn name_header_field(self) -> Option<&'static str> {
        match self {
            Self::ToolsCall | Self::PromptsGet => Some("name"),
            Self::ResourcesRead => Some("uri"),
            // The tasks extension mirrors the task's id.
            Self::TasksGet | Self::TasksUpdate | Self::TasksCancel => Some("taskId"),
            _ => None,
        }
    }

    /// The capability that a server declares when it answers this request.
    pub fn needs_capability(self) -> Option<&'static str> {
        Some(match self {
            Self::ToolsList | Self::ToolsCall => "tools",
            Self::ResourcesList
            | Self::ResourceTemplatesList
            | Self::ResourcesRead
            | Self::ResourcesSubscribe
            | Self::ResourcesUnsubscribe => "resources",
            Self::PromptsList | Self::PromptsGet => "prompts",
            Self::Complete => "completions",
            Self::SetLevel => "logging",
            _ => return None,
        })
    }

    /// The member of a list result that holds the items.
    pub fn list_field(self) -> Option<&'static str> {
        Some(match self {
            Self::ToolsList => "tools",
            Self::ResourcesList => "resources",
            Self::ResourceTemplatesList => "resourceTemplates",
            Self::PromptsList => "prompts",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
