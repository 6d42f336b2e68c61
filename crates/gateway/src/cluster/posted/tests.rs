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
    /// Who hears where nobody listens.
    notes: Arc<Mutex<Vec<mpsc::UnboundedSender<String>>>>,
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

    fn send_noted(&self, to: &str, message: Bytes) -> Pending<()> {
        if !self.bring(to, message) {
            for note in &*self.notes.lock() {
                let _ = note.send(to.to_owned());
            }
        }
        ready(Ok(())).boxed()
    }

    fn unheard(&self) -> Pending<BoxStream<'static, String>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.notes.lock().push(sender);
        ready(Ok(received(receiver))).boxed()
    }

    fn hand_over(&self, to: &str, message: Bytes) -> Pending<bool> {
        ready(Ok(self.bring(to, message))).boxed()
    }

    fn listen(&self, at: &str) -> Pending<BoxStream<'static, Arrival>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.boxes.lock().insert(at.to_owned(), sender);
        ready(Ok(received(receiver))).boxed()
    }

    fn acknowledge(&self, _: &Arrival) -> Pending<()> {
        ready(Ok(())).boxed()
    }
}

fn received<T: Send + 'static>(from: mpsc::UnboundedReceiver<T>) -> BoxStream<'static, T> {
    let each = futures_util::stream::unfold(from, |mut from| async move {
        let next = from.recv().await?;
        Some((next, from))
    });
    each.boxed()
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
    while office.boxes.lock().len() < 2 || office.notes.lock().len() < 2 {
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

/// A link that is kept for the next request ends when nobody listens at its other end any
/// more, and not when somebody has found out otherwise.
#[tokio::test]
async fn a_quiet_link_to_nobody_ends_with_what_is_sent_next() {
    let office = Office::default();
    let (a, _b) = pair(&office).await;
    let mut near = a.connect("b").await.unwrap().unwrap();
    near.write_all(b"one").await.unwrap();
    // It is killed, and says nothing.
    office.boxes.lock().remove("sb.post.b");
    let quiet = limits::POST_QUIET + Duration::from_millis(100);
    for link in a.links.lock().values_mut() {
        link.at = Instant::now().checked_sub(quiet).unwrap();
    }
    near.write_all(b"two").await.unwrap();
    assert_eq!(near.read(&mut [0]).await.unwrap(), 0);
    assert!(a.links.lock().is_empty());
}

/// A newer version may say more than this one knows, and is understood in the rest.
#[tokio::test]
async fn what_a_newer_version_says_is_passed_by() {
    let office = Office::default();
    let (a, b) = pair(&office).await;
    let mut near = a.connect("b").await.unwrap().unwrap();
    let mut far = b.accept().await.unwrap();
    let name = a.links.lock().keys().next().unwrap().clone();
    let (kind, number) = ([9], 1_u64.to_be_bytes());
    let said = ["b".as_bytes(), b"a", name.link.as_bytes(), &kind];
    let tag = a.keys.tag(&[&said[..], &[&number, b"new"]].concat());
    let newer = [&kind[..], &number, &tag.unwrap(), b"new"].concat();
    office.bring(&a.place(&name), newer.into());
    // What comes behind it is not taken for a gap.
    let data = a.frame(&name, Kind::Data, 2, b"more");
    office.bring(&a.place(&name), data);
    let mut got = [0; 4];
    far.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"more");
    far.write_all(b"back").await.unwrap();
    near.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"back");
    assert_eq!(b.strangers.load(Ordering::Relaxed), 0);
}
