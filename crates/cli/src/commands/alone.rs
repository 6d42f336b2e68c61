//! One server on its own, for any client, on stdio or on the network: a gateway whose only
//! server it is, under its own names on every face. So it is held to the same rules as
//! everything else that we serve.

use super::listen::announce;
use crate::{
    context::note,
    failure::{Code, Failure},
    life,
};
use std::{io::IsTerminal, sync::Arc};
use switchboard::{
    Doors, VERSION,
    gateway::{Gateway, GatewayOptions, faces},
    host::{Host, ServerSpec, permission::Rules},
    library,
    transport::Budget,
    wire::name::Style,
};
use tokio_util::sync::CancellationToken;

/// One server that is served.
pub struct Alone {
    /// The server.
    pub spec: ServerSpec,
    /// Where it is served; on stdio where there are none.
    pub doors: Doors,
    /// Whether what it listed last is told while it is away.
    pub keeps_lists: bool,
}

impl Alone {
    /// Serves until stdin ends or a signal comes; `begin` is told when it begins.
    pub fn serve(
        self,
        begin: impl FnOnce(&Arc<Host>, &CancellationToken),
    ) -> Result<Code, Failure> {
        let name = self.spec.name.clone();
        if self.doors.is_empty() {
            return life::short(async move |stop| {
                let (host, gateway, _) = self.gateway();
                begin(&host, &stop);
                if std::io::stdin().is_terminal() {
                    note(
                        "it waits for messages of an MCP client on its standard input; Ctrl-C ends it",
                    );
                }
                tracing::info!(server = %name, "running on standard streams");
                let served = faces::stdio::serve(gateway, stop).await;
                end(&name, &host).await;
                match served {
                    Ok(()) => Ok(Code::Done),
                    Err(fault) => Err(Failure::new(Code::Answered, fault.to_string())),
                }
            })?;
        }
        life::long(async move |stop| {
            let (host, gateway, doors) = self.gateway();
            let open = doors.open()?;
            announce(&open);
            begin(&host, &stop);
            tracing::info!(server = %name, "running on the network");
            let served = switchboard::serve(&gateway, open, &stop).await;
            end(&name, &host).await;
            served?;
            Ok(Code::Done)
        })?
    }

    fn gateway(self) -> (Arc<Host>, Arc<Gateway>, Doors) {
        let single = Some(self.spec.name.clone());
        let rules = Rules::everything_allowed();
        let host = Host::new(vec![self.spec], rules, Style::Bare, Budget::default());
        let options = GatewayOptions {
            version: VERSION.to_owned(),
            single,
            keeps_lists: self.keeps_lists,
            ..GatewayOptions::default()
        };
        (host.clone(), Gateway::new(host, options), self.doors)
    }
}

/// What it has started ends with it.
async fn end(name: &str, host: &Host) {
    tracing::info!(server = name, "shutting down");
    library::close(host).await;
}
