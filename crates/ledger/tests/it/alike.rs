//! All ledgers, asked the same at random, say the same.

use bytes::Bytes;
use proptest::prelude::*;
use std::{collections::HashMap, time::Duration};
use switchboard_ledger::{Clock, Entry, Keep, Key, Ledger};

/// One request. Revisions are named by whose they were: the ledgers number as they like.
#[derive(Clone, Debug)]
enum Ask {
    Read(u8),
    Create(u8, u8, Option<u8>),
    Set(u8, Whose, u8, Option<u8>),
    Renew(u8, Whose, u8),
    Remove(u8, Option<Whose>),
    List(u8, u8),
    Count,
    Append(u8, Vec<u8>, u8, u8),
    From(u8, Where, u8),
    Forget(u8),
    Sweep,
    Pass(u8),
}

/// A revision that somebody has seen.
#[derive(Clone, Copy, Debug)]
enum Whose {
    Newest,
    First,
}

/// A number that somebody has seen.
#[derive(Clone, Copy, Debug)]
enum Where {
    Begin,
    Last,
    Behind,
}

fn asks() -> impl Strategy<Value = Ask> {
    let name = 0..4u8;
    let whose = || prop_oneof![3 => Just(Whose::Newest), 1 => Just(Whose::First)];
    let from = || prop_oneof![Just(Where::Begin), Just(Where::Last), Just(Where::Behind)];
    let life = || proptest::option::of(1..9u8);
    prop_oneof![
        name.clone().prop_map(Ask::Read),
        (name.clone(), any::<u8>(), life()).prop_map(|(n, v, l)| Ask::Create(n, v, l)),
        (name.clone(), whose(), any::<u8>(), life()).prop_map(|(n, w, v, l)| Ask::Set(n, w, v, l)),
        (name.clone(), whose(), 1..9u8).prop_map(|(n, w, l)| Ask::Renew(n, w, l)),
        (name.clone(), proptest::option::of(whose())).prop_map(|(n, w)| Ask::Remove(n, w)),
        (name.clone(), 0..5u8).prop_map(|(n, m)| Ask::List(n, m)),
        Just(Ask::Count),
        (
            0..2u8,
            proptest::collection::vec(any::<u8>(), 0..5),
            1..6u8,
            1..9u8
        )
            .prop_map(|(s, v, m, l)| Ask::Append(s, v, m, l)),
        (0..2u8, from(), 0..8u8).prop_map(|(s, n, m)| Ask::From(s, n, m)),
        (0..2u8).prop_map(Ask::Forget),
        Just(Ask::Sweep),
        (1..6u8).prop_map(Ask::Pass),
    ]
}

/// What was said, without the numbers of revisions and items.
#[derive(Debug, PartialEq)]
enum Said {
    Value(Option<Bytes>),
    Done(bool),
    Names(Vec<String>),
    Number(u64),
    Values(Vec<Bytes>),
}

struct Asker<'a> {
    ledger: &'a dyn Ledger,
    clock: &'a Clock,
    newest: HashMap<u8, u64>,
    first: HashMap<u8, u64>,
    /// The last numbers of streams.
    last: HashMap<u8, u64>,
}

impl Asker<'_> {
    fn saw(&mut self, name: u8, revision: Option<u64>) -> Said {
        if let Some(revision) = revision {
            self.newest.insert(name, revision);
            self.first.entry(name).or_insert(revision);
        }
        Said::Done(revision.is_some())
    }

    fn revision(&self, name: u8, whose: Whose) -> u64 {
        let known = match whose {
            Whose::Newest => &self.newest,
            Whose::First => &self.first,
        };
        known.get(&name).copied().unwrap_or(u64::MAX >> 1)
    }

    async fn ask(&mut self, ask: &Ask) -> Said {
        let ledger = self.ledger;
        let key = |name: &u8| Key::new("space", format!("n{name}"));
        let secs = |secs: &u8| Duration::from_secs(u64::from(*secs));
        let bytes = |value: &u8| Bytes::from(vec![*value]);
        let stream = |name: &u8| format!("s{name}");
        match ask {
            Ask::Read(name) => {
                let found = ledger.read(&key(name)).await.unwrap();
                Said::Value(found.map(|Entry { value, .. }| value))
            }
            Ask::Create(name, value, life) => {
                let life = life.as_ref().map(secs);
                let made = ledger.create(&key(name), bytes(value), life).await;
                self.saw(*name, made.unwrap())
            }
            Ask::Set(name, whose, value, life) => {
                let (life, old) = (life.as_ref().map(secs), self.revision(*name, *whose));
                let set = ledger.compare_and_set(&key(name), old, bytes(value), life);
                let set = set.await.unwrap();
                self.saw(*name, set)
            }
            Ask::Renew(name, whose, life) => {
                let old = self.revision(*name, *whose);
                let renewed = ledger.renew(vec![(key(name), old)], secs(life)).await;
                let renewed = renewed.unwrap()[0];
                // The same entry, by another number.
                if let Some(new) = renewed
                    && self.first.get(name) == Some(&old)
                {
                    self.first.insert(*name, new);
                }
                self.saw(*name, renewed)
            }
            Ask::Remove(name, whose) => {
                let revision = whose.map(|whose| self.revision(*name, whose));
                Said::Done(ledger.remove(&key(name), revision).await.unwrap())
            }
            Ask::List(after, most) => {
                let listed = ledger.list("space", &key(after).name, usize::from(*most));
                let names = listed.await.unwrap().into_iter().map(|(name, _)| name);
                Said::Names(names.collect())
            }
            Ask::Count => Said::Number(ledger.count("space").await.unwrap()),
            Ask::Append(name, values, items, life) => {
                let keep = Keep {
                    items: u64::from(*items),
                    life: secs(life),
                };
                let values = values.iter().map(bytes).collect();
                let last = ledger.append(&stream(name), values, keep).await.unwrap();
                self.last.insert(*name, last);
                Said::Done(last > 0)
            }
            Ask::From(name, number, most) => {
                let last = self.last.get(name).copied().unwrap_or(0);
                let number = match number {
                    Where::Begin => 0,
                    Where::Last => last,
                    Where::Behind => last + 1,
                };
                let read = ledger.read_from(&stream(name), number, usize::from(*most));
                let items = read.await.unwrap().into_iter();
                Said::Values(items.map(|item| item.value).collect())
            }
            Ask::Forget(name) => {
                ledger.forget(&stream(name)).await.unwrap();
                Said::Done(true)
            }
            Ask::Sweep => Said::Done(ledger.sweep().await.unwrap()),
            Ask::Pass(time) => {
                self.clock.pass(secs(time));
                Said::Done(true)
            }
        }
    }
}

/// Asks all of it, and gives what was said.
async fn heard(ledger: &dyn Ledger, clock: &Clock, all: &[Ask]) -> Vec<Said> {
    let mut asker = Asker {
        ledger,
        clock,
        newest: HashMap::new(),
        first: HashMap::new(),
        last: HashMap::new(),
    };
    let mut said = Vec::new();
    for ask in all {
        said.push(asker.ask(ask).await);
    }
    said
}

fn compare(all: &[Ask], first: &[Said], second: &[Said]) {
    for (at, (one, two)) in first.iter().zip(second).enumerate() {
        assert_eq!(one, two, "{at}: {:?}", all[at]);
    }
}

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(1).enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn both_say_the_same(all in proptest::collection::vec(asks(), 1..60)) {
        runtime().block_on(async {
            let [memory, file] = super::both().try_into().unwrap();
            let first = heard(&*memory.0, &memory.1, &all).await;
            compare(&all, &first, &heard(&*file.0, &file.1, &all).await);
        });
    }
}

/// The one that machines share has a clock of its own, so that here everything lives for
/// long. It is not asked for anything else than the others.
#[test]
fn what_machines_share_says_the_same() {
    let runtime = runtime();
    let (ledger, _server) = runtime.block_on(super::shared());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 24,
        ..ProptestConfig::default()
    });
    let all = proptest::collection::vec(asks(), 1..40);
    let result = runner.run(&all, |all| {
        let all: Vec<Ask> = all.into_iter().filter_map(timeless).collect();
        runtime.block_on(async {
            empty(&*ledger).await;
            let [memory, _] = super::both().try_into().unwrap();
            let first = heard(&*memory.0, &memory.1, &all).await;
            compare(&all, &first, &heard(&*ledger, &Clock::wall(), &all).await);
        });
        Ok(())
    });
    result.unwrap();
}

/// The same without an end that comes by itself.
fn timeless(ask: Ask) -> Option<Ask> {
    const LONG: u8 = u8::MAX;
    Some(match ask {
        Ask::Pass(_) => return None,
        Ask::Create(name, value, life) => Ask::Create(name, value, life.map(|_| LONG)),
        Ask::Set(name, whose, value, life) => Ask::Set(name, whose, value, life.map(|_| LONG)),
        Ask::Renew(name, whose, _) => Ask::Renew(name, whose, LONG),
        Ask::Append(stream, values, items, _) => Ask::Append(stream, values, items, LONG),
        other => other,
    })
}

async fn empty(ledger: &dyn Ledger) {
    for name in 0..4u8 {
        let key = Key::new("space", format!("n{name}"));
        ledger.remove(&key, None).await.unwrap();
        ledger.forget(&format!("s{name}")).await.unwrap();
    }
    ledger.sweep().await.unwrap();
}
