//! A cache of parsed files, each valid for as long as its file's stamp proves that the bytes are the same.

use std::any::{Any, TypeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use dashmap::DashMap;

use super::{Digest, FileKey, FileModel, FileStamp, LoadedModel, OpenFile, PrebuiltModel, ReadError};
use crate::clock;

const MODEL_CACHE_BYTES: usize = 48 << 20;
const MODEL_OVERHEAD_BYTES: usize = 256;
const INLINE_MODEL_BYTES: usize = 8 << 20;

/// A kind of model of the file with this name: whatever takes its place takes its slot.
type Key = (TypeId, FileKey);

/// Parsed files by stamp.
#[derive(Debug, Default)]
pub struct ModelCache {
    models: DashMap<Key, CachedModel>,
    bytes: AtomicUsize,
    uses: AtomicU64,
}

#[derive(Debug)]
struct CachedModel {
    model: Arc<dyn Any + Send + Sync>,
    digest: Digest,
    stamp: FileStamp,
    /// Its bytes were compared at this time.
    compared_ns: i128,
    memory_bytes: usize,
    last_used: AtomicU64,
}

impl CachedModel {
    fn loaded<M: FileModel>(&self) -> Option<LoadedModel<M>> {
        let model = Arc::clone(&self.model).downcast::<M>().ok()?;
        Some(LoadedModel { model, digest: self.digest, stamp: self.stamp })
    }

    /// Whether the same identity proves the same bytes.
    fn is_settled(&self) -> bool {
        !self.stamp.may_hide_a_change(self.compared_ns)
    }
}

impl ModelCache {
    /// The model of a file that is in this state, whether or not that proves that it holds the same bytes.
    pub fn get_by_stamp<M: FileModel>(&self, name: &FileKey, stamp: FileStamp) -> Option<LoadedModel<M>> {
        self.get_if(name, |kept| kept.stamp == stamp)
    }

    /// The model of a file that is known to be in this state; none if it must be read.
    pub fn get_proven<M: FileModel>(&self, name: &FileKey, stamp: FileStamp) -> Option<LoadedModel<M>> {
        self.get_if(name, |kept| kept.stamp == stamp && kept.is_settled())
    }

    fn get_if<M: FileModel>(&self, name: &FileKey, is_so: impl Fn(&CachedModel) -> bool) -> Option<LoadedModel<M>> {
        let kept = self.models.get(&key::<M>(name)).filter(|kept| is_so(kept))?;
        kept.last_used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        kept.loaded()
    }

    /// The model of a small file that is known to be in this state.
    pub fn get_small_proven<M: FileModel>(&self, name: &FileKey, stamp: FileStamp) -> Option<LoadedModel<M>> {
        let is_small = self.models.get(&key::<M>(name))?.memory_bytes <= INLINE_MODEL_BYTES;
        is_small.then(|| self.get_proven(name, stamp)).flatten()
    }

    /// The model of an open file.
    pub fn load<M: FileModel>(
        &self,
        name: &FileKey,
        mut file: OpenFile,
        limit: u64,
    ) -> Result<LoadedModel<M>, ReadError> {
        if let Some(known) = self.get_proven(name, file.stamp()) {
            return Ok(known);
        }
        let compared_ns = clock::epoch_nanos();
        if let Some(same) = self.revalidate(name, &mut file, compared_ns)? {
            return Ok(same);
        }
        let seen = file.read(limit)?;
        let (digest, stamp) = (Digest::of(&seen.bytes), seen.stamp);
        let model = Arc::new(M::read(&seen.bytes));
        self.insert(name, stamp, digest, compared_ns, PrebuiltModel::of(Arc::clone(&model)));
        Ok(LoadedModel { model, digest, stamp })
    }

    /// The model that is known, if its bytes are still those of the file although their times say nothing.
    fn revalidate<M: FileModel>(
        &self,
        name: &FileKey,
        file: &mut OpenFile,
        compared_ns: i128,
    ) -> Result<Option<LoadedModel<M>>, ReadError> {
        let size = file.stamp().size;
        let is_alike = |kept: &CachedModel| kept.stamp.size == size;
        let Some(before) = self.models.get(&key::<M>(name)).filter(|kept| is_alike(kept)).map(|kept| kept.digest)
        else {
            return Ok(None);
        };
        let (digest, stamp) = file.digest()?;
        let Some(mut kept) = self.models.get_mut(&key::<M>(name)).filter(|kept| kept.digest == digest) else {
            return Ok(None);
        };
        if digest == before {
            (kept.stamp, kept.compared_ns) = (stamp, compared_ns);
            return Ok(kept.loaded());
        }
        Ok(None)
    }

    /// Takes note of the model of bytes that were just written to a file.
    pub fn insert_written(&self, name: &FileKey, stamp: FileStamp, digest: Digest, made: PrebuiltModel) {
        // Nobody has compared: the first who asks reads the bytes, but need not make a model of them.
        self.insert(name, stamp, digest, 0, made);
    }

    fn insert(&self, name: &FileKey, stamp: FileStamp, digest: Digest, compared_ns: i128, made: PrebuiltModel) {
        let key = (made.model.as_ref().type_id(), name.clone());
        let memory_bytes = made.memory_bytes + MODEL_OVERHEAD_BYTES;
        let last_used = AtomicU64::new(self.uses.fetch_add(1, Ordering::Relaxed));
        let kept = CachedModel { model: made.model, digest, stamp, compared_ns, memory_bytes, last_used };
        let before = self.models.insert(key.clone(), kept).map_or(0, |before| before.memory_bytes);
        let bytes = self.bytes.fetch_add(memory_bytes, Ordering::Relaxed) + memory_bytes;
        self.bytes.fetch_sub(before, Ordering::Relaxed);
        if bytes - before.min(bytes) > MODEL_CACHE_BYTES {
            self.evict_least_recent(&key);
        }
    }

    /// Until three quarters are left. The newest stays, however large it is.
    fn evict_least_recent(&self, newest: &Key) {
        let mut all: Vec<(u64, Key)> =
            self.models.iter().map(|kept| (kept.last_used.load(Ordering::Relaxed), kept.key().clone())).collect();
        all.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in all.into_iter().filter(|(_, key)| key != newest) {
            if self.bytes.load(Ordering::Relaxed) <= MODEL_CACHE_BYTES / 4 * 3 {
                return;
            }
            if let Some((_, gone)) = self.models.remove(&key) {
                self.bytes.fetch_sub(gone.memory_bytes, Ordering::Relaxed);
            }
        }
    }
}

fn key<M: FileModel>(name: &FileKey) -> Key {
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
    use crate::disk::{RelativePath, RootDir, SymlinkPolicy};

    #[derive(Debug, PartialEq)]
    struct Words(String);

    impl FileModel for Words {
        fn read(bytes: &[u8]) -> Self {
            Self(String::from_utf8_lossy(bytes).into_owned())
        }

        fn memory_bytes(&self) -> usize {
            self.0.len()
        }
    }

    fn name(home: &Path) -> FileKey {
        let (device, inode) = RootDir::open(home).and_then(|root| root.directory_id()).expect("a directory");
        (device, inode, RelativePath::parse("file").expect("a path"))
    }

    fn fetch(models: &ModelCache, home: &Path) -> LoadedModel<Words> {
        let name = name(home);
        let file = RootDir::open(home).and_then(|root| root.open_file(&name.2, SymlinkPolicy::Refuse)).expect("a file");
        models.load(&name, file, 1 << 30).expect("its bytes")
    }

    #[test]
    fn a_model_is_made_once_and_again_when_the_file_moved() {
        let home = TempDir::new().expect("a directory");
        let (models, path) = (ModelCache::default(), home.path().join("file"));
        fs::write(&path, "one").expect("a file");
        let first = fetch(&models, home.path());
        assert!(Arc::ptr_eq(&first.model, &fetch(&models, home.path()).model), "young: compared, not made again");
        std::thread::sleep(Duration::from_millis(30));
        fetch(&models, home.path());
        assert!(models.get_proven::<Words>(&name(home.path()), first.stamp).is_some(), "settled: not even read again");
        assert!(Arc::ptr_eq(&first.model, &fetch(&models, home.path()).model));
        fs::write(&path, "two").expect("a file");
        assert_eq!(fetch(&models, home.path()).model.0, "two");
    }

    #[test]
    fn the_same_size_and_an_old_time_hide_nothing() {
        let home = TempDir::new().expect("a directory");
        let (models, path) = (ModelCache::default(), home.path().join("file"));
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        for round in 0..200 {
            fs::write(&path, format!("{round:03}")).expect("a file");
            let file = File::options().write(true).open(&path).expect("a file");
            file.set_times(FileTimes::new().set_modified(old)).expect("its times");
            assert_eq!(fetch(&models, home.path()).model.0, format!("{round:03}"));
        }
    }

    #[test]
    fn what_was_written_with_its_model_needs_no_reading() {
        let home = TempDir::new().expect("a directory");
        let (models, path) = (ModelCache::default(), home.path().join("file"));
        fs::write(&path, "one").expect("a file");
        let stamp = fetch(&models, home.path()).stamp;
        let made = Arc::new(Words("one, made by the writer".into()));
        models.insert_written(&name(home.path()), stamp, Digest::of(b"one"), PrebuiltModel::of(Arc::clone(&made)));
        assert!(Arc::ptr_eq(&fetch(&models, home.path()).model, &made));
        fs::write(&path, "two").expect("a file");
        assert_eq!(fetch(&models, home.path()).model.0, "two");
    }

    #[test]
    fn large_ones_are_not_small() {
        let home = TempDir::new().expect("a directory");
        let (models, path) = (ModelCache::default(), home.path().join("file"));
        for (size, expected) in [(10, true), (INLINE_MODEL_BYTES as u64 + 1, false)] {
            let file = File::create(&path).expect("a file");
            file.set_len(size).expect("a size");
            file.set_modified(SystemTime::UNIX_EPOCH).expect("a time");
            std::thread::sleep(Duration::from_millis(50));
            let stamp = fetch(&models, home.path()).stamp;
            assert!(models.get_proven::<Words>(&name(home.path()), stamp).is_some());
            assert_eq!(models.get_small_proven::<Words>(&name(home.path()), stamp).is_some(), expected, "{size}");
        }
    }

    #[test]
    fn what_was_used_longest_ago_is_forgotten() {
        let home = TempDir::new().expect("a directory");
        let models = ModelCache::default();
        for number in 0..8 {
            let home = home.path().join(number.to_string());
            fs::create_dir(&home).expect("a directory");
            let file = File::create(home.join("file")).expect("a file");
            file.set_len(MODEL_CACHE_BYTES as u64 / 5).expect("a large file");
            fetch(&models, &home);
        }
        assert!(models.bytes.load(Ordering::Relaxed) <= MODEL_CACHE_BYTES && models.models.len() < 6);
        assert!(models.models.contains_key(&key::<Words>(&name(&home.path().join("7")))));
    }
}
