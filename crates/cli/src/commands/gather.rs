//! Lists of all servers, asked side by side.

use super::tools::{one, unreachable, warn_of_nothing};
use crate::{
    failure::{Code, Failure},
    life,
};
use futures_util::future::join_all;
use std::sync::Arc;
use switchboard::{
    Caller, Governed, Pools, Settings,
    host::{
        Server,
        catalog::{Item, List},
    },
};

/// What the servers have, in the order of the configuration, and how many could not say.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Whose, from which list, and what.
    pub items: Vec<(Arc<Server>, List, Arc<Item>)>,
    failed: usize,
    asked: usize,
}

impl Gathered {
    /// How the command ends.
    pub fn code(&self) -> Code {
        if self.failed > 0 && self.failed == self.asked {
            Code::Unreachable
        } else {
            Code::Done
        }
    }
}

/// Asks all servers, or the one that is named, for these lists.
pub fn gather(
    governed: &Governed,
    settings: &Settings,
    only: Option<&str>,
    lists: &[List],
) -> Result<Gathered, Failure> {
    let servers = match only {
        Some(name) => vec![one(governed, name)?],
        None => governed.host().servers().to_vec(),
    };
    if servers.is_empty() {
        warn_of_nothing(governed);
        return Ok(Gathered::default());
    }
    let answers = life::short(async |stop| {
        let caller = Caller::new(governed.host().clone());
        let answers = tokio::select! {
            answers = ask(&caller, settings, &servers, lists) => Ok(answers),
            () = stop.cancelled() => Err(Failure::new(Code::Interrupted, "interrupted")),
        };
        governed.close().await;
        answers
    })??;
    let mut gathered = Gathered {
        asked: servers.len(),
        ..Gathered::default()
    };
    for (server, answer) in servers.iter().zip(answers) {
        match answer {
            Ok(items) => gathered.items.extend(
                items
                    .into_iter()
                    .map(|(list, item)| (server.clone(), list, item)),
            ),
            Err(failure) if only.is_some() => return Err(failure),
            Err(failure) => {
                failure.show(false);
                gathered.failed += 1;
            }
        }
    }
    Ok(gathered)
}

type Answer = Result<Vec<(List, Arc<Item>)>, Failure>;

/// Asks side by side.
pub async fn ask(
    caller: &Caller,
    settings: &Settings,
    servers: &[Arc<Server>],
    lists: &[List],
) -> Vec<Answer> {
    let pools = Pools::new(settings);
    let each = servers.iter().map(async |server| {
        let failed = |fault| unreachable(server, &fault);
        let remote = server.spec.target.is_remote();
        let met = pools
            .run(remote, caller.meet(server))
            .await
            .map_err(failed)?;
        let mut all = Vec::new();
        for list in lists {
            let items = met.items(*list).await.map_err(failed)?;
            all.extend(items.into_iter().map(|item| (*list, item)));
        }
        Ok(all)
    });
    join_all(each).await
}
