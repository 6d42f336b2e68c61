//! The permission matrix: mode × rule × annotation × face × method. What is
//! found is exactly what is permitted, and only what is permitted, or said yes
//! to, ever reaches a server.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use switchboard_agent::{Operator, call_to_end};
use switchboard_host::{
    Admitted, CallError, Client, Consent, Host, NoSink, Scope, ServerSpec, Target, Verdict,
    catalog::List,
    permission::{Decision, Effect, Mode, Origin, Rules, What},
};
use switchboard_transport::{Budget, in_process::End};
use switchboard_wire::{Method, Revision, name::Style};

/// What one server was sent by clients, save the lists and the handshake.
type Heard = Arc<Mutex<Vec<String>>>;

const TOOLS: [&str; 4] = ["read-it", "write_it", "break_it", "plain"];
const SERVERS: [&str; 2] = ["one", "my-two"];

#[derive(Clone, Copy, Debug)]
enum Face {
    /// All servers as one.
    Aggregate,
    /// One server alone.
    Single,
}

#[derive(Clone, Debug)]
struct Case {
    mode: Mode,
    rules: Vec<(Effect, String)>,
    trusted: bool,
    /// Whether somebody can be asked, and what they say.
    says: Option<bool>,
    modern: bool,
}

fn annotations(tool: &str) -> Value {
    match tool {
        "read-it" => json!({"readOnlyHint": true}),
        "write_it" => {
            json!({"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false})
        }
        "break_it" => json!({"destructiveHint": true}),
        _ => json!({}),
    }
}

/// A server in this process that notes what it is asked.
fn server(end: End, heard: Heard) {
    let End {
        sender,
        mut receiver,
    } = end;
    tokio::spawn(async move {
        while let Some(bytes) = receiver.next().await {
            let message: Value = serde_json::from_slice(&bytes).expect("JSON");
            let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
                continue;
            };
            let params = &message["params"];
            let result = match method {
                "initialize" => json!({
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "completions": {}},
                    "serverInfo": {"name": "matrix", "version": "1"},
                }),
                "tools/list" => {
                    let tools = TOOLS.map(|name| {
                        json!({"name": name, "inputSchema": {"type": "object"}, "annotations": annotations(name)})
                    });
                    json!({ "tools": tools })
                }
                "prompts/list" => json!({"prompts": [{"name": "plain"}, {"name": "greet"}]}),
                "resources/list" => json!({"resources": []}),
                "resources/templates/list" => json!({"resourceTemplates": []}),
                "server/discover" => {
                    let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}});
                    let _ = sender.send(Bytes::from(error.to_string()).into());
                    continue;
                }
                other => {
                    let name = params["name"].as_str().or(params["ref"]["name"].as_str());
                    let what = format!(
                        "{other} {}",
                        name.or(params["uri"].as_str()).unwrap_or_default()
                    );
                    heard
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(what);
                    json!({"content": [], "messages": [], "contents": [], "completion": {"values": []}})
                }
            };
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
            let _ = sender.send(Bytes::from(answer.to_string()).into());
        }
    });
}

struct Person(bool);

impl Operator for Person {
    fn permit<'a>(&'a self, _: &'a Consent) -> BoxFuture<'a, Verdict> {
        let verdict = if self.0 { Verdict::Once } else { Verdict::No };
        Box::pin(std::future::ready(verdict))
    }
}

fn rule() -> impl Strategy<Value = (Effect, String)> {
    let effect = prop_oneof![Just(Effect::Allow), Just(Effect::Ask), Just(Effect::Deny)];
    let server = prop_oneof![Just("one"), Just("my-two"), Just("my_two")];
    let tool = prop_oneof![
        Just("*"),
        Just("read-it"),
        Just("read_it"),
        Just("write_it"),
        Just("*_it"),
        Just("greet"),
        Just("plain"),
        Just(""),
    ];
    (effect, server, tool).prop_map(|(effect, server, tool)| {
        let tool = if tool.is_empty() {
            String::new()
        } else {
            format!("__{tool}")
        };
        (effect, format!("mcp__{server}{tool}"))
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let mode = prop::sample::select(Mode::ALL.to_vec());
    let rules = prop::collection::vec(rule(), 0..4);
    let says = prop_oneof![Just(None), Just(Some(true)), Just(Some(false))];
    (mode, rules, any::<bool>(), says, any::<bool>()).prop_map(
        |(mode, rules, trusted, says, modern)| Case {
            mode,
            rules,
            trusted,
            says,
            modern,
        },
    )
}

struct World {
    host: Arc<Host>,
    heard: [Heard; 2],
    client: Arc<Client>,
    case: Case,
}

impl World {
    fn new(case: Case) -> Self {
        let heard: [Heard; 2] = Default::default();
        let specs = SERVERS.iter().zip(&heard).map(|(name, heard)| {
            let heard = heard.clone();
            let target = Target::Linked(Arc::new(move |end| {
                server(end, heard.clone());
                Ok(())
            }));
            ServerSpec::new(*name, target)
        });
        let mut rules = Rules::builder(SERVERS, case.mode);
        for (effect, text) in &case.rules {
            rules = rules.rule(*effect, text, Origin::user("matrix"));
        }
        if case.trusted {
            rules = rules.trust("one");
        }
        let rules = rules.build().0;
        let host = Host::new(specs.collect(), rules, Style::Short, Budget::default());
        let revision = if case.modern {
            Revision::NEWEST
        } else {
            Revision::NEWEST_LEGACY
        };
        let none = Bytes::from_static(b"{}");
        let client = Client::new("me".into(), revision, none, Arc::new(NoSink));
        Self {
            host,
            heard,
            client: Arc::new(client.deciding(case.says.is_some())),
            case,
        }
    }

    fn heard(&self, at: usize) -> usize {
        self.heard[at]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Sends a request by a face.
    async fn send(
        &self,
        at: usize,
        face: Face,
        method: Method,
        name: &str,
    ) -> Result<bool, CallError> {
        let server = self.host.servers()[at].clone();
        let outward = match face {
            Face::Aggregate => format!("{}__{name}", SERVERS[at]),
            Face::Single => name.to_owned(),
        };
        let params = match method {
            Method::Complete => json!({
                "ref": {"type": "ref/prompt", "name": outward}, "argument": {"name": "a", "value": ""},
            }),
            Method::ResourcesRead => json!({"uri": match face {
                Face::Aggregate => format!("{}+x://1", SERVERS[at]),
                Face::Single => "x://1".to_owned(),
            }}),
            _ => json!({"name": outward, "arguments": {}}),
        };
        let scope = match face {
            Face::Aggregate => Scope::All,
            Face::Single => Scope::One(server),
        };
        let admitted = Admitted::own(&self.client, scope, method, &params.to_string())?;
        let person = Person(self.case.says == Some(true));
        let reply = call_to_end(&self.host, admitted, &person).await?;
        Ok(reply.message.error_code().is_none())
    }

    /// Whether a decision lets a request through.
    fn passes(&self, decision: &Decision) -> bool {
        match decision {
            Decision::Allow => true,
            Decision::Ask(_) => self.case.says == Some(true),
            Decision::Deny(_) | Decision::Held(_) => false,
        }
    }

    async fn check(&self) {
        let guard = self.host.guard().clone();
        // Lists first, so that decisions are made with definitions in hand.
        self.host
            .refresh(&self.client, &[List::Tools, List::Prompts])
            .await;
        for (at, server) in self.host.servers().iter().enumerate() {
            let reaches = guard.reaches(&self.client, server);
            let tools = TOOLS
                .iter()
                .map(|name| (List::Tools, Method::ToolsCall, *name));
            let prompts = ["plain", "greet"].map(|name| (List::Prompts, Method::PromptsGet, name));
            for (list, method, name) in tools.chain(prompts) {
                let what = What::listed(list, name);
                let decision = guard.decide(&self.client, server, what, None);
                let merged = self.host.known(&self.client, list);
                let listed = merged.own(server.name(), name).is_some();
                assert_eq!(
                    listed,
                    reaches && decision.is_visible(),
                    "found if and only if permitted: {name} of {} in {:?}: {decision:?}",
                    SERVERS[at],
                    self.case
                );
                let methods: &[Method] = match list {
                    List::Prompts => &[Method::PromptsGet, Method::Complete],
                    _ => &[Method::ToolsCall],
                };
                assert!(methods.contains(&method));
                for method in methods {
                    for face in [Face::Aggregate, Face::Single] {
                        let before = self.heard(at);
                        let sent = self.send(at, face, *method, name).await;
                        let reached = self.heard(at) > before;
                        let wanted = self.passes(&decision);
                        assert_eq!(
                            reached, wanted,
                            "{method:?} {name} of {} by {face:?} in {:?}: {decision:?} gave {sent:?}",
                            SERVERS[at], self.case
                        );
                        assert_eq!(sent.is_ok(), wanted, "{sent:?}");
                    }
                }
            }
            let decision = guard.decide(&self.client, server, What::Resource("x://1"), None);
            for face in [Face::Aggregate, Face::Single] {
                let before = self.heard(at);
                let sent = self.send(at, face, Method::ResourcesRead, "").await;
                assert_eq!(
                    self.heard(at) > before,
                    self.passes(&decision),
                    "{face:?} {:?} {sent:?}",
                    self.case
                );
            }
        }
        self.host.close().await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn found_if_and_only_if_permitted(case in cases()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(World::new(case).check());
    }
}

/// Every mode, annotation and kind of rule at least once, whatever chance brings.
#[test]
fn every_mode_with_every_kind_of_rule() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    for mode in Mode::ALL {
        for effect in [
            None,
            Some(Effect::Allow),
            Some(Effect::Ask),
            Some(Effect::Deny),
        ] {
            for modern in [false, true] {
                let rule = effect.map(|effect| (effect, "mcp__one__read_it".to_owned()));
                let case = Case {
                    mode,
                    rules: rule.into_iter().collect(),
                    trusted: true,
                    says: Some(false),
                    modern,
                };
                runtime.block_on(World::new(case).check());
            }
        }
    }
}

/// A rule that changes while the host runs is seen at once.
#[tokio::test]
async fn new_rules_change_what_is_listed() {
    let case = Case {
        mode: Mode::Client,
        rules: Vec::new(),
        trusted: false,
        says: None,
        modern: false,
    };
    let world = World::new(case);
    let (host, client) = (&world.host, &world.client);
    let count = async || host.merged(client, List::Tools).await.len();
    assert_eq!(count().await, 8);
    let rules = |text: &str| {
        let rules = Rules::builder(SERVERS, Mode::Client);
        rules
            .rule(Effect::Deny, text, Origin::user("later"))
            .build()
            .0
    };
    host.guard().set_rules(rules("mcp__one__*"));
    assert_eq!(count().await, 4);
    host.guard().set_rules(rules("mcp__one__plain"));
    assert_eq!(count().await, 7);
    host.close().await;
}
