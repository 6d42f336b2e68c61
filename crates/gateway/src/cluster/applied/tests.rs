use super::*;
use crate::cluster::{
    part::Hire,
    signed::{ApplyKey, Statement},
};
use switchboard_ledger::{Clock, Memory};

const ALL: Part = Part::Replicas;

struct Fleet {
    ledger: Arc<Memory>,
    cluster: String,
    key: ApplyKey,
    follower: Applied,
    book: AppliedBook,
}

fn keys(text: &str) -> ClusterKeys {
    ClusterKeys::read(text).unwrap()
}

fn signed(key: &ApplyKey, version: u64) -> Signed {
    let statement = Statement {
        version,
        ..Statement::default()
    };
    key.public().open(ALL, &key.sign(ALL, &statement)).unwrap()
}

impl Fleet {
    fn new() -> Self {
        let ledger = Arc::new(Memory::new(Clock::by_hand()));
        let cluster = ClusterKeys::make().unwrap();
        let (secret, _) = ApplyKey::make().unwrap();
        let key = ApplyKey::read(&secret).unwrap();
        Self {
            follower: Applied::new(
                ALL,
                ledger.clone(),
                Arc::new(keys(&cluster)),
                Some(key.public()),
                &[],
            ),
            book: AppliedBook::of(ledger.clone(), keys(&cluster)),
            ledger,
            cluster,
            key,
        }
    }

    async fn apply(&self, version: u64, key: &ApplyKey) {
        let now = self.book.now(&self.key.public()).await.unwrap();
        let put = self.book.put(now.as_ref(), &signed(key, version)).await;
        put.unwrap();
    }

    /// Puts something there that whoever runs NATS, or has a replica's key, could.
    async fn plant(&self, value: Bytes) {
        let found = self.ledger.read(&key(NOW)).await.unwrap().unwrap();
        let set = self
            .ledger
            .compare_and_set(&key(NOW), found.revision, value, None);
        set.await.unwrap().unwrap();
    }

    fn seal(&self, bytes: &[u8]) -> Bytes {
        sealed(&keys(&self.cluster), NOW, bytes).unwrap()
    }

    async fn holds(&self) -> Option<u64> {
        self.follower.look().await.unwrap();
        let newest = self.follower.newest();
        let newest = newest.borrow();
        newest.as_ref().map(|signed| signed.statement.version)
    }

    fn why(&self, value: &[u8]) -> NotApplied {
        let judged = self.follower.judged(value, &self.key.public());
        judged.unwrap_err()
    }
}

#[tokio::test]
async fn only_what_is_signed_and_newer_is_followed() {
    let fleet = Fleet::new();
    assert_eq!(fleet.holds().await, None);
    fleet.apply(1, &fleet.key).await;
    assert_eq!(fleet.holds().await, Some(1));
    let first = fleet.ledger.read(&key(NOW)).await.unwrap().unwrap().value;
    fleet.apply(2, &fleet.key).await;
    assert_eq!(fleet.holds().await, Some(2));
    // An older one, as it was.
    let older = NotApplied::Older {
        version: 1,
        known: 2,
    };
    assert_eq!(fleet.why(&first), older);
    fleet.plant(first).await;
    assert_eq!(fleet.holds().await, Some(2));
    let three = Statement {
        version: 3,
        ..Statement::default()
    };
    let good = fleet.key.sign(ALL, &three);
    // Not sealed.
    assert_eq!(fleet.why(&good), NotApplied::Altered);
    // Sealed, and unsigned, altered, or signed by somebody else.
    let mut unsigned = good.clone();
    unsigned[33..97].fill(0);
    assert_eq!(fleet.why(&fleet.seal(&unsigned)), NotApplied::Unsigned);
    let mut altered = good.clone();
    let last = altered.len() - 3;
    altered[last] ^= 1;
    assert_eq!(fleet.why(&fleet.seal(&altered)), NotApplied::Forged);
    let (other, _) = ApplyKey::make().unwrap();
    let other = ApplyKey::read(&other).unwrap();
    let strange = fleet.seal(&other.sign(ALL, &three));
    assert!(matches!(fleet.why(&strange), NotApplied::Stranger(_)));
    let twice = Statement {
        version: 2,
        note: "another".into(),
        ..Statement::default()
    };
    let twice = fleet.seal(&fleet.key.sign(ALL, &twice));
    assert_eq!(fleet.why(&twice), NotApplied::Twice(2));
    for value in [unsigned, altered] {
        fleet.plant(fleet.seal(&value)).await;
        assert_eq!(fleet.holds().await, Some(2));
    }
    fleet.plant(fleet.seal(&good)).await;
    assert_eq!(fleet.holds().await, Some(3));
}

#[tokio::test]
async fn a_replica_that_starts_again_knows_what_it_followed() {
    let fleet = Fleet::new();
    fleet.apply(1, &fleet.key).await;
    let first = fleet.ledger.read(&key(NOW)).await.unwrap().unwrap().value;
    fleet.apply(2, &fleet.key).await;
    assert_eq!(fleet.holds().await, Some(2));
    let kept = fleet.follower.newest().borrow().clone().unwrap();
    fleet.plant(first).await;
    let again = |signers| {
        let keys = Arc::new(keys(&fleet.cluster));
        let kept = [kept.bytes.clone()];
        Applied::new(ALL, fleet.ledger.clone(), keys, signers, &kept)
    };
    let replica = again(Some(fleet.key.public()));
    replica.look().await.unwrap();
    let version = |of: &Applied| {
        let newest = of.newest();
        let newest = newest.borrow();
        newest.as_ref().map(|signed| signed.statement.version)
    };
    assert_eq!(version(&replica), Some(2));
    // Who follows nobody follows nothing, whatever is there.
    let nobody = again(None);
    nobody.look().await.unwrap();
    assert_eq!(version(&nobody), None);
}

#[tokio::test]
async fn so_many_are_kept_and_one_of_two_is_first() {
    let fleet = Fleet::new();
    let most = limits::APPLIED_KEPT as u64;
    for version in 1..=most + 5 {
        fleet.apply(version, &fleet.key).await;
    }
    let all = fleet.book.all(&fleet.key.public()).await.unwrap();
    let versions: Vec<u64> = all.iter().map(|one| one.statement.version).collect();
    let wanted: Vec<u64> = (6..=most + 5).rev().collect();
    assert_eq!(versions, wanted);
    let before = fleet.book.now(&fleet.key.public()).await.unwrap();
    fleet.apply(most + 6, &fleet.key).await;
    let mut late = signed(&fleet.key, most + 6);
    let put = fleet.book.put(before.as_ref(), &late).await;
    assert_eq!(put, Err(ApplyError::Overtaken));
    late.bytes = vec![0; limits::APPLIED + 1];
    let put = fleet.book.put(before.as_ref(), &late).await;
    assert!(matches!(put, Err(ApplyError::TooLarge(_))));
    // What somebody without a good key puts in its place loses nothing.
    let (other, _) = ApplyKey::make().unwrap();
    fleet
        .apply(most + 7, &ApplyKey::read(&other).unwrap())
        .await;
    let all = fleet.book.all(&fleet.key.public()).await.unwrap();
    assert_eq!(all[0].statement.version, most + 6);
    // Nor does it take a number away.
    fleet.apply(most + 7, &fleet.key).await;
    fleet.apply(most + 8, &fleet.key).await;
    let all = fleet.book.all(&fleet.key.public()).await.unwrap();
    assert_eq!(all[1].statement.version, most + 7);
}

/// What outposts are told is told once, and nobody who was slower puts an older one back.
#[tokio::test]
async fn outposts_are_told_what_is_theirs_and_the_newest_stays() {
    let fleet = Fleet::new();
    let (signers, part) = (fleet.key.public(), Part::Outposts);
    let theirs = ClusterKeys::for_workers(&fleet.cluster).unwrap();
    let outpost = Applied::new(
        part,
        fleet.ledger.clone(),
        Arc::new(keys(&theirs)),
        Some(signers.clone()),
        &[],
    );
    let holds = async || {
        outpost.look().await.unwrap();
        let newest = outpost.newest();
        let newest = newest.borrow();
        newest.as_ref().map(|signed| signed.statement.version)
    };
    let told = |version| {
        let statement = Statement {
            version,
            ..Statement::default()
        };
        fleet.key.signed(part, &statement)
    };
    fleet.book.tell(&told(2), &signers).await.unwrap();
    assert_eq!(holds().await, Some(2));
    assert!(fleet.book.is_told(2, &signers).await.unwrap());
    fleet.book.tell(&told(1), &signers).await.unwrap();
    assert!(fleet.book.is_told(2, &signers).await.unwrap());
    // Whoever has a worker's key can seal, and sign nothing: what was signed for replicas, what
    // is unsigned, altered, or a stranger's is nothing that an outpost would run.
    let good = told(3).bytes;
    let mut unsigned = good.clone();
    unsigned[33..97].fill(0);
    let mut altered = good.clone();
    let last = altered.len() - 3;
    altered[last] ^= 1;
    let (other, _) = ApplyKey::make().unwrap();
    let strange = ApplyKey::read(&other).unwrap();
    let strange = strange.sign(part, &told(3).statement);
    for (bytes, why) in [
        (signed(&fleet.key, 3).bytes, "it is not what was signed"),
        (unsigned, "nobody has signed it"),
        (altered, "it is not what was signed"),
        (strange, "is none of those that may"),
    ] {
        let sealed = part.sealed(&keys(&theirs), &bytes).unwrap();
        let judged = outpost.judged(&sealed, &signers).unwrap_err();
        assert!(judged.to_string().contains(why), "{judged}");
        let entry = fleet.ledger.read(&part.key()).await.unwrap().unwrap();
        let set = fleet
            .ledger
            .compare_and_set(&part.key(), entry.revision, sealed, None);
        set.await.unwrap().unwrap();
        assert_eq!(holds().await, Some(2));
        assert!(!fleet.book.is_told(3, &signers).await.unwrap());
    }
    fleet.book.tell(&told(3), &signers).await.unwrap();
    assert_eq!(holds().await, Some(3));
    let mut many = told(4);
    let name = |number: usize| (number.to_string(), Hire::default());
    many.statement.hires = (0..=limits::HIRES).map(name).collect();
    let put = fleet.book.tell(&many, &signers).await;
    assert!(matches!(put, Err(ApplyError::TooMany(_))));
}
