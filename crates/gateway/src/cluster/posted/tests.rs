//! Links through somebody who loses, repeats and alters.

use super::*;
use futures_util::{FutureExt, future::ready, stream::BoxStream};
use std::time::Duration;
use switchboard_ledger::Pending;

type Sent = Arc<Mutex<Vec<(String, Bytes)>>>;

/// Brings messages to whoever listens, and remembers all of them.
#[derive(Clone, Debug, Default)]
struct Office {
    boxes: Arc<Mutex<HashMap<String, mpsc::UnboundedSender<Arrival>>>>,
    sent: Sent,
    /// Drops the message of this number.
    loses: Arc<Mutex<Option<usize>>>,
}

impl Office {
    fn bring(&self, to: &str, message: Bytes) -> bool {
        self.sent.lock().push((to.to_owned(), message.clone()));
        if self
            .loses
            .lock()
            .is_some_and(|at| at == self.sent.lock().len())
        {
            return true;
        }
        let peer = to.split('.').take(3).collect::<Vec<_>>().join(".");
        let arrival = Arrival {
            to: to.to_owned(),
            message,
            reply: None,
        };
        let boxes = self.boxes.lock();
        boxes.get(&peer).is_some_and(|it| it.send(arrival).is_ok())
    }
}

impl Post for Office {
    fn send(&self, to: &str, message: Bytes) -> Pending<()> {
        self.bring(to, message);
        ready(Ok(())).boxed()
    }

    fn hand_over(&self, to: &str, message: Bytes) -> Pending<bool> {
        ready(Ok(self.bring(to, message))).boxed()
    }

    fn listen(&self, at: &str) -> Pending<BoxStream<'static, Arrival>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.boxes.lock().insert(at.to_owned(), sender);
        let arrivals = futures_util::stream::unfold(receiver, |mut receiver| async move {
            let arrival = receiver.recv().await?;
            Some((arrival, receiver))
        });
        ready(Ok(arrivals.boxed())).boxed()
    }

    fn acknowledge(&self, _: &Arrival) -> Pending<()> {
        ready(Ok(())).boxed()
    }
}

async fn pair(office: &Office) -> (Arc<Posted>, Arc<Posted>) {
    let key = ClusterKeys::make().unwrap();
    let make = |id: &str| {
        let keys = Arc::new(ClusterKeys::read(&key).unwrap());
        let posted = Posted::new(Arc::new(office.clone()), keys, id);
        let kept = posted.clone();
        tokio::spawn(async move { kept.keep().await });
        posted
    };
    let both = (make("a"), make("b"));
    while office.boxes.lock().len() < 2 {
        tokio::task::yield_now().await;
    }
    both
}

#[tokio::test]
async fn bytes_arrive_as_they_were_sent_and_links_end_with_either_end() {
    let office = Office::default();
    let (a, b) = pair(&office).await;
    assert!(a.connect("c").await.unwrap().is_none(), "nobody is there");
    let mut near = a.connect("b").await.unwrap().unwrap();
    let mut far = b.accept().await.unwrap();
    // More than may be on its way, and nobody takes it at first.
    let sent: Vec<u8> = (0..3 * limits::POST_CREDIT).map(|at| at as u8).collect();
    let copy = sent.clone();
    let writing = tokio::spawn(async move {
        near.write_all(&copy).await.unwrap();
        near
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let under_way: usize = office.sent.lock().iter().map(|(_, it)| it.len()).sum();
    assert!(under_way < 2 * limits::POST_CREDIT, "{under_way}");
    let mut got = vec![0; sent.len()];
    far.read_exact(&mut got).await.unwrap();
    assert!(got == sent);
    let near = writing.await.unwrap();
    drop(near);
    assert_eq!(far.read(&mut [0]).await.unwrap(), 0);
    drop(far);
    let over = async {
        while !(a.links.lock().is_empty() && b.links.lock().is_empty()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), over)
        .await
        .unwrap();
}

#[tokio::test]
async fn what_is_played_back_or_forged_counts_for_nothing_and_a_loss_ends_a_link() {
    let office = Office::default();
    let (a, b) = pair(&office).await;
    let mut near = a.connect("b").await.unwrap().unwrap();
    let mut far = b.accept().await.unwrap();
    near.write_all(b"one").await.unwrap();
    let mut got = [0; 3];
    far.read_exact(&mut got).await.unwrap();
    let recorded = office.sent.lock().clone();
    for (to, message) in recorded {
        office.bring(&to, message.clone());
        let mut altered = message.to_vec();
        altered[0] ^= 1;
        office.bring(&to, altered.into());
        office.bring(&to.replace("b.a", "b.x"), message.clone());
        office.bring(&to, message.slice(..5));
    }
    near.write_all(b"two").await.unwrap();
    far.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"two");
    assert!(b.strangers.load(Ordering::Relaxed) >= 3);
    assert_eq!(b.links.lock().len(), 1, "none was opened again");
    // What is lost is noticed when the next comes.
    *office.loses.lock() = Some(office.sent.lock().len() + 1);
    near.write_all(b"lost").await.unwrap();
    while office.sent.lock().len() < office.loses.lock().unwrap() {
        tokio::task::yield_now().await;
    }
    near.write_all(b"next").await.unwrap();
    assert_eq!(far.read(&mut [0]).await.unwrap(), 0);
    // Whoever has gone says nothing of it.
    let mut near = a.connect("b").await.unwrap().unwrap();
    a.retain(|peer| peer != "b");
    assert_eq!(near.read(&mut [0]).await.unwrap(), 0);
}
