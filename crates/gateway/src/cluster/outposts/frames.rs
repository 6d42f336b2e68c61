//! What an outpost and a replica tell each other beside the links of servers: JSON behind
//! its length.

use super::hiring::Hiring;
use crate::limits;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{collections::BTreeMap, io};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};

/// The headers by which an outpost comes in.
pub(crate) mod headers {
    use http::HeaderName;

    /// Its name, which its certificate is made out to.
    pub(crate) const NAME: HeaderName = HeaderName::from_static("switchboard-outpost");
    /// Its id, another at each start.
    pub(crate) const ID: HeaderName = HeaderName::from_static("switchboard-outpost-id");
    /// What shows that it has the cluster's key.
    pub(crate) const PROOF: HeaderName = HeaderName::from_static("switchboard-outpost-proof");
    /// Which link this is.
    pub(crate) const LINK: HeaderName = HeaderName::from_static("switchboard-outpost-link");
    /// By which place it may run the server, and which time that is.
    pub(crate) const PLACE: HeaderName = HeaderName::from_static("switchboard-outpost-place");
}

/// What an outpost says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Said {
    /// The servers that it runs for others.
    pub offers: Vec<String>,
    /// What it is like.
    pub labels: BTreeMap<String, String>,
    /// How many links it has.
    pub links: usize,
    /// How many it takes.
    pub room: usize,
    /// Whether it ends, and takes no more.
    pub draining: bool,
    /// The servers that were signed for outposts, as it has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hires: Vec<Hiring>,
    /// The version of what was signed that it goes by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<u64>,
}

/// What an outpost tells a replica.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum FromOutpost {
    /// How it is doing. Said again and again, so that it is known to be there.
    Is(Said),
    /// A link that there will not be.
    Refused(Refused),
}

/// Why there will not be a link.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Refused {
    pub link: String,
    pub why: String,
    /// The outposts that run the server, where no more may.
    pub run_by: Vec<String>,
}

/// What a replica tells an outpost.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ToOutpost {
    /// It is there.
    Beat,
    /// A link is wanted.
    Open(Wanted),
}

/// A link that is wanted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Wanted {
    pub link: String,
    pub server: String,
    /// On whose behalf.
    pub principal: String,
    /// Whether one client alone has it.
    pub alone: bool,
    /// How many outposts may run the server at a time, if that matters.
    pub copies: Option<u32>,
    /// What exactly the server is, where that was signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
}

/// Tells something.
pub(crate) async fn say<T: Serialize>(
    write: &mut (impl AsyncWrite + Unpin),
    what: &T,
) -> io::Result<()> {
    let text = serde_json::to_vec(what)?;
    if text.len() > limits::OUTPOST_FRAME {
        return Err(io::Error::other("too much at once"));
    }
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    let saying = async {
        write.write_all(&length.to_be_bytes()).await?;
        write.write_all(&text).await?;
        write.flush().await
    };
    timeout(limits::OUTPOST_SILENCE, saying).await?
}

/// Hears what is told next. Whoever is silent for too long is not there any more. What a
/// newer version tells, and this one does not know, is passed by.
pub(crate) async fn hear<T: DeserializeOwned>(
    read: &mut (impl AsyncRead + Unpin),
) -> io::Result<T> {
    let hearing = async {
        loop {
            let length = read.read_u32().await? as usize;
            if length > limits::OUTPOST_FRAME {
                return Err(io::Error::other("too much at once"));
            }
            let mut text = vec![0; length];
            read.read_exact(&mut text).await?;
            match serde_json::from_slice(&text) {
                Ok(heard) => return Ok(heard),
                Err(fault) if fault.is_data() => {
                    tracing::warn!(
                        "something was told between a replica and a worker that this version does not know: it is passed by"
                    );
                }
                Err(fault) => return Err(fault.into()),
            }
        }
    };
    timeout(limits::OUTPOST_SILENCE, hearing).await?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_told_is_heard_and_nothing_larger() {
        let (mut one, mut other) = tokio::io::duplex(limits::OUTPOST_FRAME * 2);
        let said = Said {
            offers: vec!["notes".into()],
            ..Said::default()
        };
        say(&mut one, &FromOutpost::Is(said.clone())).await.unwrap();
        match hear(&mut other).await.unwrap() {
            FromOutpost::Is(heard) => assert_eq!(heard, said),
            other => panic!("{other:?}"),
        }
        // What a newer version tells.
        say(&mut one, &serde_json::json!({"sings": {"well": true}}))
            .await
            .unwrap();
        say(&mut one, &FromOutpost::Is(said)).await.unwrap();
        let next = hear::<FromOutpost>(&mut other).await.unwrap();
        assert!(matches!(next, FromOutpost::Is(_)));
        let large = "x".repeat(limits::OUTPOST_FRAME);
        assert!(say(&mut one, &large).await.is_err());
        one.write_u32(u32::MAX).await.unwrap();
        assert!(hear::<FromOutpost>(&mut other).await.is_err());
    }
}
