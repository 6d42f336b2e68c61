//! An exchange between different eras: how it starts, what changes in what it
//! yields, the rounds that a modern server may need, and the tasks that a tool
//! may have to be run as.

use super::{Event, Notice, Outcome, Reply, Sent, failed};
use crate::{
    bridge::{
        reply,
        request::{self, Retry},
        roots,
        rounds::{self, ROUNDS, Round},
        task_run::{self, News, TaskRun},
    },
    call::{Permitted, Standing},
    client::Client,
    error::CallError,
    observe::Leaving,
    permission::What,
    upstream::{Beside, Connection, Server},
};
use serde_json::json;
use std::{collections::VecDeque, fmt, sync::Arc, time::Duration};
use switchboard_wire::{
    Edits, Era, ErrorObject, Kind, Message, Method, Params, code, json as text,
};
use tokio_util::sync::CancellationToken;

/// The state of an exchange between eras.
pub(crate) struct Crossing {
    client: Arc<Client>,
    /// The latest request.
    sent: Sent,
    /// The request as the server would get it in the client's era.
    original: Message,
    name: Option<String>,
    mirrored: Vec<(String, String)>,
    timeout: Duration,
    /// Who follows what is sent.
    trace: Option<Arc<dyn Leaving>>,
    /// The number that its messages are shown under, if they are.
    call: Option<u64>,
    server: Arc<Server>,
    /// What the server's entry says of roots, where it does.
    roots: Option<String>,
    /// What it was decided by.
    standing: Standing,
    round: u32,
    /// What the latest request carried.
    latest: Retry,
    waiting: Option<Waiting>,
    task_run: TaskRun,
    questions: VecDeque<super::Input>,
    /// Ends with the exchange: questions still open are then void.
    over: CancellationToken,
    /// The furthest progress told so far: over several rounds it must not go back.
    progress: f64,
}

/// What the next request waits for.
#[derive(Clone)]
enum Waiting {
    /// The client's answers.
    Answers(Round),
    /// Nothing: the call is made again, as a task.
    Nothing,
    /// A while, before the task is asked for.
    AWhile(Duration),
}

impl Crossing {
    /// Sends a request into the other era.
    pub(crate) fn start(
        connection: &Arc<Connection>,
        permitted: &Permitted,
        original: Message,
    ) -> Result<Self, CallError> {
        let client = permitted.client().clone();
        let name = permitted.header_name().map(str::to_owned);
        let (mirrored, timeout) = (permitted.mirrored.clone(), permitted.timeout);
        let roots = &connection.spec().roots;
        let roots = (!roots.is_empty()).then(|| roots::answer(roots));
        let first = Retry {
            has_roots: roots.is_some(),
            ..Retry::default()
        };
        let message = match client.era() {
            Era::Legacy => request::to_modern(&original, &client, &first),
            Era::Modern => request::to_legacy(&original),
        };
        let beside = Beside::of(permitted);
        let (trace, call) = (beside.trace.clone(), beside.call);
        let sent = connection.dispatch(client.clone(), &message, Edits::new(), beside)?;
        Ok(Self {
            client,
            sent,
            original,
            name,
            mirrored,
            timeout,
            trace,
            call,
            server: permitted.server.clone(),
            roots,
            standing: permitted.standing(),
            round: 1,
            latest: first,
            waiting: None,
            task_run: TaskRun::None,
            questions: VecDeque::new(),
            over: CancellationToken::new(),
            progress: f64::NEG_INFINITY,
        })
    }

    /// Whether nothing has come of it yet: no answers of the client's, no task.
    pub(super) fn is_new(&self) -> bool {
        self.round == 1 && self.task_run == TaskRun::None
    }

    /// The latest request.
    pub(super) fn sent(&self) -> &Sent {
        &self.sent
    }

    /// The latest request, to be given up.
    pub(super) fn sent_mut(&mut self) -> &mut Sent {
        &mut self.sent
    }

    fn connection(&self) -> &Arc<Connection> {
        self.sent.connection()
    }

    /// Sends the latest request once more, under other headers.
    pub(super) fn send_again(&mut self, mirrored: Vec<(String, String)>) -> Result<(), CallError> {
        self.mirrored = mirrored;
        self.send(self.latest.clone())
    }

    /// Decides once more, where that could come out otherwise than before: the
    /// client may have taken long to answer, and the task to run.
    pub(super) fn still_allowed(&mut self) -> Result<(), CallError> {
        if !self.standing.is_outdated(&self.server) {
            return Ok(());
        }
        let params = Params::of(&self.original)?;
        let (named, _) = params.named(&self.original)?;
        let arguments = params.arguments.map(|span| span.of(self.original.raw()));
        let (client, server) = (&self.client, &self.server);
        self.standing
            .decide_again(client, server, What::from(&named), arguments)
    }

    /// Sends the next request.
    fn send(&mut self, retry: Retry) -> Result<(), CallError> {
        self.still_allowed()?;
        let retry = Retry {
            as_task: self.task_run != TaskRun::None,
            has_roots: self.roots.is_some(),
            ..retry
        };
        self.latest = retry.clone();
        let (message, name, mirrored) = match (&self.task_run, self.client.era()) {
            (TaskRun::Runs { task, .. }, Era::Legacy) => {
                let method = match retry.responses {
                    Some(_) => Method::TasksUpdate,
                    None => Method::TasksGet,
                };
                let about = task_run::request(method, task);
                let message = request::to_modern(&about, &self.client, &retry);
                (message, Some(task.clone()), Vec::new())
            }
            // A legacy server's answer to this comes when the task has ended.
            (TaskRun::Runs { task, .. }, Era::Modern) => (
                task_run::request(Method::TasksResult, task),
                None,
                Vec::new(),
            ),
            (task_run, era) => {
                let message = match era {
                    Era::Legacy => request::to_modern(&self.original, &self.client, &retry),
                    Era::Modern if *task_run == TaskRun::None => request::to_legacy(&self.original),
                    Era::Modern => task_run::as_task(&request::to_legacy(&self.original)),
                };
                (message, self.name.clone(), self.mirrored.clone())
            }
        };
        let beside = Beside {
            name,
            mirrored,
            limit: None,
            trace: self.trace.clone(),
            call: self.call,
            passes_on: false,
        };
        let client = self.client.clone();
        self.sent = self
            .connection()
            .dispatch(client, &message, Edits::new(), beside)?;
        Ok(())
    }

    /// One step of the way; `None` where it leads to another step and nothing to tell.
    pub(super) async fn step(&mut self) -> Option<Event> {
        if let Some(question) = self.questions.pop_front() {
            return Some(Event::Input(question));
        }
        let next = match self.waiting.clone() {
            None => {
                let event = self.sent.next().await;
                return self.after(event);
            }
            Some(Waiting::Answers(round)) => {
                let next = round.answered(self.round).await;
                self.round += 1;
                next
            }
            Some(Waiting::Nothing) => Ok(Retry::default()),
            Some(Waiting::AWhile(while_)) => {
                tokio::time::sleep(while_).await;
                Ok(Retry::default())
            }
        };
        self.waiting = None;
        let sent = next.and_then(|retry| self.send(retry));
        sent.err().map(failed)
    }

    /// What the client is told of what the server said.
    fn after(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Notice(notice) => self.notice(notice),
            Event::Outcome(Outcome::Reply(reply)) => self.reply(reply),
            other => Some(other),
        }
    }

    fn notice(&mut self, notice: Notice) -> Option<Event> {
        let body = notice.message.body();
        match notice.method {
            Method::Progress => {
                let value = text::field(body, "progress").ok().flatten();
                let value = value
                    .and_then(|span| std::str::from_utf8(span.of(body)).ok()?.parse::<f64>().ok());
                if value.is_some_and(|value| value <= self.progress) {
                    return None;
                }
                self.progress = value.unwrap_or(self.progress);
            }
            // Modern: only to a request that asked, and from the level it asked for.
            Method::LogMessage if self.client.era() == Era::Modern => {
                let level = text::field(body, "level").ok().flatten();
                let level = level
                    .and_then(|span| text::text(span.of(body)))
                    .unwrap_or_default();
                if !self.client.asked_for_logs() || !self.client.wants_log(&level) {
                    return None;
                }
            }
            _ => {}
        }
        Some(Event::Notice(notice))
    }

    fn reply(&mut self, reply: Reply) -> Option<Event> {
        let mut message = reply.settled();
        let mut asks = self.client.era() == Era::Legacy && rounds::asks_for_input(&message);
        if task_run::concerns(&self.original, &self.client) && !asks {
            match self.task_run_reply(message) {
                None | Some(News::Working) => return None,
                Some(News::Asks(question)) => (message, asks) = (question, true),
                Some(News::Ended(end)) => message = end,
            }
        }
        if asks {
            if self.round >= ROUNDS {
                let (server, reason) = (
                    self.connection().server_name().to_string(),
                    format!("it asked {ROUNDS} times for input"),
                );
                return Some(failed(CallError::Unreadable { server, reason }));
            }
            let (round, questions) = Round::open(
                &message,
                self.connection().server_name(),
                self.client.revision,
                &self.over,
                self.roots.as_deref(),
            );
            self.waiting = Some(Waiting::Answers(round));
            self.questions = questions.into();
            return None;
        }
        let method = self.original.method();
        let missing = self.connection().take_undeclared(self.client.id);
        if !missing.is_empty() && message.is_failure() {
            return Some(failed(CallError::Refused(missing_capabilities(
                &missing, &message,
            ))));
        }
        let uri = self
            .name
            .as_deref()
            .filter(|_| method == Method::ResourcesRead);
        let message = reply::translated(self.client.era(), method, uri, message);
        Some(Event::Outcome(Outcome::Reply(Reply {
            message,
            edits: Edits::new(),
        })))
    }
}

impl Crossing {
    /// What a reply means where the tool may have to be run as a task: how the
    /// call goes on, or the reply that counts.
    fn task_run_reply(&mut self, message: Message) -> Option<News> {
        let client = self.client.era();
        match &self.task_run {
            TaskRun::None if message.kind() == Kind::Error => {
                let hello = self.connection().hello();
                let has_tasks = hello.is_some_and(|hello| hello.declares("tasks"));
                if !task_run::is_required(client, &message, has_tasks) {
                    return Some(News::Ended(message));
                }
                self.task_run = TaskRun::Wanted;
                self.waiting = Some(Waiting::Nothing);
                None
            }
            TaskRun::Wanted => match task_run::begun(&message) {
                None => Some(News::Ended(message)),
                Some(runs) => {
                    self.waiting = Some(match &runs {
                        TaskRun::Runs { every, .. } if client == Era::Legacy => {
                            Waiting::AWhile(*every)
                        }
                        _ => Waiting::Nothing,
                    });
                    self.task_run = runs;
                    None
                }
            },
            TaskRun::Runs { every, .. } if client == Era::Legacy => {
                let news = task_run::news(message);
                match news {
                    News::Working => self.waiting = Some(Waiting::AWhile(*every)),
                    News::Ended(_) => self.task_run = TaskRun::Done,
                    News::Asks(_) => {}
                }
                Some(news)
            }
            TaskRun::Runs { .. } => {
                self.task_run = TaskRun::Done;
                Some(News::Ended(message))
            }
            TaskRun::None | TaskRun::Done => Some(News::Ended(message)),
        }
    }

    /// Tells the server that nobody waits for its task any more.
    fn give_up_task(&self) {
        let TaskRun::Runs { task, .. } = &self.task_run else {
            return;
        };
        let about = task_run::request(Method::TasksCancel, task);
        let (message, name) = match self.client.era() {
            Era::Legacy => {
                let retry = Retry {
                    as_task: true,
                    ..Retry::default()
                };
                let message = request::to_modern(&about, &self.client, &retry);
                (message, Some(task.clone()))
            }
            Era::Modern => (about, None),
        };
        let beside = Beside {
            name,
            limit: Some(self.timeout),
            call: self.call,
            ..Beside::default()
        };
        let client = self.client.clone();
        let cancelled = self
            .connection()
            .dispatch(client, &message, Edits::new(), beside);
        if let Ok(sent) = cancelled {
            sent.let_go();
        }
    }
}

impl Drop for Crossing {
    fn drop(&mut self) {
        self.sent.cancel(None);
        self.give_up_task();
        self.over.cancel();
        self.connection().forget(self.client.id);
    }
}

impl fmt::Debug for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crossing")
            .field("client", &self.client)
            .field("round", &self.round)
            .finish_non_exhaustive()
    }
}

/// The server asked for something that the client had not declared, and could not do without.
fn missing_capabilities(missing: &[&'static str], answer: &Message) -> ErrorObject {
    let required: serde_json::Map<String, serde_json::Value> = missing
        .iter()
        .map(|name| ((*name).to_owned(), json!({})))
        .collect();
    let said: serde_json::Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    ErrorObject::new(
        code::MISSING_CAPABILITY,
        format!("the server needs {}", missing.join(" and ")),
    )
    .with_data(json!({ "requiredCapabilities": required, "answer": said }))
}
