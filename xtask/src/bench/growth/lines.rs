//! What is measured together: sets of cells and of lines, by name.

use crate::bench::measure::Cell;
use crate::bench::subjects::Subject;

/// A set that can be asked for by its name.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Set {
    /// From 1 to 1,024 clients
    Clients,
    /// From 200 B to 16 MiB
    Sizes,
    /// The upstream over each transport
    Transports,
    /// Clients with TLS, over HTTP/1.1 and HTTP/2
    Tls,
    /// Clients and servers of both eras, and the bridge between them
    Eras,
    /// From 1 to 1,000 servers: a page, a call, a search, the first list, memory
    Servers,
    /// 10,000 sessions: memory
    Sessions,
    /// Several gateways as one: a replica's own sessions, and those of another
    Cluster,
    /// One thread, two threads, two runtimes
    Cores,
}

/// One line of a table or a plot: a subject as clients of one era use it.
#[derive(Clone)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// What stands between the clients and the upstream.
    pub subject: Subject,
    /// The era that the clients speak.
    pub era: &'static str,
}

/// Cells and lines, each of which is measured in each cell.
pub struct Grid {
    /// The sizes and numbers of clients.
    pub cells: Vec<Cell>,
    /// What is compared; each is divided by what `reference` says.
    pub lines: Vec<Line>,
    /// For each line, the one that it is divided by.
    pub reference: Vec<usize>,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

impl Set {
    /// Its name on the command line and in the docs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clients => "clients",
            Self::Sizes => "sizes",
            Self::Transports => "transports",
            Self::Tls => "tls",
            Self::Eras => "eras",
            Self::Servers => "servers",
            Self::Sessions => "sessions",
            Self::Cluster => "cluster",
            Self::Cores => "cores",
        }
    }

    /// What it measures, where that is a grid.
    pub fn grid(self, agentgateway: bool) -> Option<Grid> {
        use Subject::{
            Agentgateway, Forwarded, H2, Http, HttpThreads, HttpTwice, Nginx, NginxH2, NginxTls,
            OverNats, Replica, Sse, Stdio, StdioLegacy, StdioModern, StdioThreads, StdioTwice, Tls,
            Ws,
        };
        let mut plain = vec![Nginx, Stdio, Http];
        plain.extend(agentgateway.then_some(Agentgateway));
        Some(match self {
            Self::Clients => Grid::of(cells(&[200], &[1, 16, 64, 256, 1024]), &plain),
            Self::Sizes => Grid::of(
                cells(&[200, 10 * KIB, MIB, 16 * MIB], &[1, 16])
                    .into_iter()
                    .filter(|cell| cell.bytes < 16 * MIB || cell.clients == 1)
                    .collect(),
                &plain,
            ),
            Self::Transports => {
                plain.extend([Ws, Sse]);
                Grid::of(cells(&[200], &[1, 16]), &plain)
            }
            Self::Tls => {
                let mut grid =
                    Grid::of(cells(&[200, MIB], &[1, 16]), &[NginxTls, Tls, NginxH2, H2]);
                grid.reference = vec![0, 0, 2, 2];
                grid
            }
            Self::Eras => {
                let line = |subject: Subject, server: &str, era: &'static str| Line {
                    name: format!("{era} client, {server} server"),
                    subject,
                    era,
                };
                let mut grid = Grid::of(cells(&[200], &[1, 16]), &[]);
                for era in ["legacy", "modern"] {
                    grid.lines.push(line(StdioLegacy, "legacy", era));
                    grid.lines.push(line(StdioModern, "modern", era));
                }
                grid.reference = vec![0; grid.lines.len()];
                grid
            }
            Self::Cluster => Grid::of(
                cells(&[200, 10 * KIB], &[1, 16]),
                &[Stdio, Replica, Forwarded, OverNats],
            ),
            Self::Cores => {
                let lines = [
                    Stdio,
                    StdioThreads,
                    StdioTwice,
                    Http,
                    HttpThreads,
                    HttpTwice,
                ];
                let mut grid = Grid::of(cells(&[200, MIB], &[16, 256]), &lines);
                grid.reference = vec![0, 0, 0, 3, 3, 3];
                grid
            }
            Self::Servers | Self::Sessions => return None,
        })
    }
}

impl Grid {
    /// Legacy clients of these subjects, divided by the first.
    pub fn of(cells: Vec<Cell>, subjects: &[Subject]) -> Self {
        let line = |&subject: &Subject| Line {
            name: subject.name().to_owned(),
            subject,
            era: "legacy",
        };
        Self {
            cells,
            reference: vec![0; subjects.len()],
            lines: subjects.iter().map(line).collect(),
        }
    }
}

/// Every size with every number of clients.
pub fn cells(bytes: &[u64], clients: &[u64]) -> Vec<Cell> {
    let cell = |&bytes: &u64| {
        clients
            .iter()
            .map(move |&clients| Cell { bytes, clients })
            .collect::<Vec<_>>()
    };
    bytes.iter().flat_map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn each_line_has_something_to_be_divided_by() {
        for set in Set::value_variants() {
            let Some(grid) = set.grid(true) else { continue };
            assert_eq!(grid.reference.len(), grid.lines.len(), "{}", set.name());
            assert!(grid.reference.iter().all(|&at| at < grid.lines.len()));
            assert!(!grid.cells.is_empty());
        }
    }

    #[test]
    fn names_are_those_of_the_command_line() {
        for set in Set::value_variants() {
            let value = set.to_possible_value();
            assert_eq!(
                value.map(|value| value.get_name().to_owned()).as_deref(),
                Some(set.name())
            );
        }
    }
}
