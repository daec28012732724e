//! Models of files, kept for as long as the files are what they were.
//!
//! A file comes in, what a family makes of its bytes goes out: made once, and shared. A file whose identity
//! has moved is read again. Times of files are coarse, so one that was changed a moment before it was read
//! is compared by its bytes until that moment is past. What was used longest ago goes when there is too much.

use std::any::{Any, TypeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use dashmap::DashMap;

use super::{Digest, FileName, Identity, OpenFile};
use crate::clock;
use crate::families::edit::Made;
use crate::families::need::{Model, ModelSeen, Unseen};

/// So much of them is kept, by their own estimates.
const MOST_BYTES: usize = 48 << 20;
/// What a model costs besides, so that many small ones count as well.
const EACH: usize = 256;
/// What is made of a larger one takes more than a moment.
const SMALL: usize = 8 << 20;
/// Two changes within this time may leave the same times behind: the clock of a file system is that coarse.
const TICK_NS: i128 = 20_000_000;

/// A kind of model of the file with this name: whatever takes its place takes its slot.
type Key = (TypeId, FileName);

/// The models that are kept.
#[derive(Debug, Default)]
pub struct Models {
    kept: DashMap<Key, Kept>,
    bytes: AtomicUsize,
    uses: AtomicU64,
}

#[derive(Debug)]
struct Kept {
    model: Arc<dyn Any + Send + Sync>,
    digest: Digest,
    identity: Identity,
    /// Its bytes were compared at this time.
    compared_ns: i128,
    weight: usize,
    last_used: AtomicU64,
}

impl Kept {
    fn seen<M: Model>(&self) -> Option<ModelSeen<M>> {
        let model = Arc::clone(&self.model).downcast::<M>().ok()?;
        Some(ModelSeen { model, digest: self.digest, identity: self.identity })
    }

    /// Whether the same identity proves the same bytes.
    fn is_settled(&self) -> bool {
        self.identity.changed_ns.max(self.identity.modified_ns) + TICK_NS < self.compared_ns
    }
}

impl Models {
    /// The model of a file that is in this state, whether or not that proves that it holds the same bytes.
    pub fn in_state<M: Model>(&self, name: &FileName, identity: Identity) -> Option<ModelSeen<M>> {
        self.kept_if(name, |kept| kept.identity == identity)
    }

    /// The model of a file that is known to be in this state; none if it must be read.
    pub fn known<M: Model>(&self, name: &FileName, identity: Identity) -> Option<ModelSeen<M>> {
        self.kept_if(name, |kept| kept.identity == identity && kept.is_settled())
    }

    fn kept_if<M: Model>(&self, name: &FileName, is_so: impl Fn(&Kept) -> bool) -> Option<ModelSeen<M>> {
        let kept = self.kept.get(&key::<M>(name)).filter(|kept| is_so(kept))?;
        kept.last_used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        kept.seen()
    }

    /// The model of a small file that is known to be in this state.
    pub fn small<M: Model>(&self, name: &FileName, identity: Identity) -> Option<ModelSeen<M>> {
        let is_small = self.kept.get(&key::<M>(name))?.weight <= SMALL;
        is_small.then(|| self.known(name, identity)).flatten()
    }

    /// The model of an open file.
    pub fn of<M: Model>(&self, name: &FileName, mut file: OpenFile, limit: u64) -> Result<ModelSeen<M>, Unseen> {
        if let Some(known) = self.known(name, file.identity()) {
            return Ok(known);
        }
        let compared_ns = clock::nanoseconds();
        if let Some(same) = self.same(name, &mut file, compared_ns)? {
            return Ok(same);
        }
        let seen = file.read(limit)?;
        let (digest, identity) = (Digest::of(&seen.bytes), seen.identity);
        let model = Arc::new(M::read(&seen.bytes));
        self.keep(name, identity, digest, compared_ns, Made::of(Arc::clone(&model)));
        Ok(ModelSeen { model, digest, identity })
    }

    /// The model that is known, if its bytes are still those of the file although their times say nothing.
    fn same<M: Model>(
        &self,
        name: &FileName,
        file: &mut OpenFile,
        compared_ns: i128,
    ) -> Result<Option<ModelSeen<M>>, Unseen> {
        let size = file.identity().size;
        let is_alike = |kept: &Kept| kept.identity.size == size;
        let Some(before) = self.kept.get(&key::<M>(name)).filter(|kept| is_alike(kept)).map(|kept| kept.digest) else {
            return Ok(None);
        };
        let (digest, identity) = file.digest()?;
        let Some(mut kept) = self.kept.get_mut(&key::<M>(name)).filter(|kept| kept.digest == digest) else {
            return Ok(None);
        };
        if digest == before {
            (kept.identity, kept.compared_ns) = (identity, compared_ns);
            return Ok(kept.seen());
        }
        Ok(None)
    }

    /// Takes note of the model of bytes that were just written to a file.
    pub fn learn(&self, name: &FileName, identity: Identity, digest: Digest, made: Made) {
        // Nobody has compared: the first who asks reads the bytes, but need not make a model of them.
        self.keep(name, identity, digest, 0, made);
    }

    fn keep(&self, name: &FileName, identity: Identity, digest: Digest, compared_ns: i128, made: Made) {
        let key = (made.model.as_ref().type_id(), name.clone());
        let weight = made.weight + EACH;
        let last_used = AtomicU64::new(self.uses.fetch_add(1, Ordering::Relaxed));
        let kept = Kept { model: made.model, digest, identity, compared_ns, weight, last_used };
        let before = self.kept.insert(key.clone(), kept).map_or(0, |before| before.weight);
        let bytes = self.bytes.fetch_add(weight, Ordering::Relaxed) + weight;
        self.bytes.fetch_sub(before, Ordering::Relaxed);
        if bytes - before.min(bytes) > MOST_BYTES {
            self.forget_the_oldest(&key);
        }
    }

    /// Until three quarters are left. The newest stays, however large it is.
    fn forget_the_oldest(&self, newest: &Key) {
        let mut all: Vec<(u64, Key)> =
            self.kept.iter().map(|kept| (kept.last_used.load(Ordering::Relaxed), kept.key().clone())).collect();
        all.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in all.into_iter().filter(|(_, key)| key != newest) {
            if self.bytes.load(Ordering::Relaxed) <= MOST_BYTES / 4 * 3 {
                return;
            }
            if let Some((_, gone)) = self.kept.remove(&key) {
                self.bytes.fetch_sub(gone.weight, Ordering::Relaxed);
            }
        }
    }
}

fn key<M: Model>(name: &FileName) -> Key {
    (TypeId::of::<M>(), name.clone())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make the files that are looked at")]
mod tests {
    use std::fs::{self, File, FileTimes};
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use tempfile::TempDir;

    use super::*;
    use crate::disk::{RelativePath, Root};
    use crate::families::need::Links;

    #[derive(Debug, PartialEq)]
    struct Words(String);

    impl Model for Words {
        fn read(bytes: &[u8]) -> Self {
            Self(String::from_utf8_lossy(bytes).into_owned())
        }

        fn weight(&self) -> usize {
            self.0.len()
        }
    }

    fn name(home: &Path) -> FileName {
        let (device, inode) = Root::open(home).and_then(|root| root.number()).expect("a directory");
        (device, inode, RelativePath::parse("file").expect("a path"))
    }

    fn look(models: &Models, home: &Path) -> ModelSeen<Words> {
        let name = name(home);
        let file = Root::open(home).and_then(|root| root.open_file(&name.2, Links::Never)).expect("a file");
        models.of(&name, file, 1 << 30).expect("its bytes")
    }

    #[test]
    fn a_model_is_made_once_and_again_when_the_file_moved() {
        let home = TempDir::new().expect("a directory");
        let (models, path) = (Models::default(), home.path().join("file"));
        fs::write(&path, "one").expect("a file");
        let first = look(&models, home.path());
        assert!(Arc::ptr_eq(&first.model, &look(&models, home.path()).model), "young: compared, not made again");
        std::thread::sleep(Duration::from_millis(30));
        look(&models, home.path());
        assert!(models.known::<Words>(&name(home.path()), first.identity).is_some(), "settled: not even read again");
        assert!(Arc::ptr_eq(&first.model, &look(&models, home.path()).model));
        fs::write(&path, "two").expect("a file");
        assert_eq!(look(&models, home.path()).model.0, "two");
    }

    #[test]
    fn the_same_size_and_an_old_time_hide_nothing() {
        let home = TempDir::new().expect("a directory");
        let (models, path) = (Models::default(), home.path().join("file"));
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        for round in 0..200 {
            fs::write(&path, format!("{round:03}")).expect("a file");
            let file = File::options().write(true).open(&path).expect("a file");
            file.set_times(FileTimes::new().set_modified(old)).expect("its times");
            assert_eq!(look(&models, home.path()).model.0, format!("{round:03}"));
        }
    }

    #[test]
    fn what_was_written_with_its_model_needs_no_reading() {
        let home = TempDir::new().expect("a directory");
        let (models, path) = (Models::default(), home.path().join("file"));
        fs::write(&path, "one").expect("a file");
        let identity = look(&models, home.path()).identity;
        let made = Arc::new(Words("one, made by the writer".into()));
        models.learn(&name(home.path()), identity, Digest::of(b"one"), Made::of(Arc::clone(&made)));
        assert!(Arc::ptr_eq(&look(&models, home.path()).model, &made));
        fs::write(&path, "two").expect("a file");
        assert_eq!(look(&models, home.path()).model.0, "two");
    }

    #[test]
    fn large_ones_are_not_small() {
        let home = TempDir::new().expect("a directory");
        let (models, path) = (Models::default(), home.path().join("file"));
        for (size, expected) in [(10, true), (SMALL as u64 + 1, false)] {
            let file = File::create(&path).expect("a file");
            file.set_len(size).expect("a size");
            file.set_modified(SystemTime::UNIX_EPOCH).expect("a time");
            std::thread::sleep(Duration::from_millis(50));
            let identity = look(&models, home.path()).identity;
            assert!(models.known::<Words>(&name(home.path()), identity).is_some());
            assert_eq!(models.small::<Words>(&name(home.path()), identity).is_some(), expected, "{size}");
        }
    }

    #[test]
    fn what_was_used_longest_ago_is_forgotten() {
        let home = TempDir::new().expect("a directory");
        let models = Models::default();
        for number in 0..8 {
            let home = home.path().join(number.to_string());
            fs::create_dir(&home).expect("a directory");
            let file = File::create(home.join("file")).expect("a file");
            file.set_len(MOST_BYTES as u64 / 5).expect("a large file");
            look(&models, &home);
        }
        assert!(models.bytes.load(Ordering::Relaxed) <= MOST_BYTES && models.kept.len() < 6);
        assert!(models.kept.contains_key(&key::<Words>(&name(&home.path().join("7")))));
    }
}
