//! The hash of a file that users see: bytes in, lower-case hex SHA-256 out.

use sha2::{Digest as _, Sha256};

const DIGITS: &[u8; 16] = b"0123456789abcdef";
/// After so many bytes the state is kept.
const CHECKPOINT_BYTES: usize = 64 << 10;

/// Of the whole file.
pub fn hash_of(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).as_slice())
}

fn hex(hash: &[u8]) -> String {
    let digits = |byte: u8| [byte >> 4, byte & 15].map(|half| char::from(DIGITS[usize::from(half)]));
    hash.iter().flat_map(|byte| digits(*byte)).collect()
}

/// How the hash of a text came about, so that a text with the same beginning need not be hashed from the start.
#[derive(Debug, Clone, Default)]
pub struct HashCheckpoints(Vec<Sha256>);

impl HashCheckpoints {
    /// The hash of a text, and how it came about; perhaps with another text to begin with.
    pub fn of(text: &[u8], before: Option<(&[u8], &Self)>) -> (String, Self) {
        let known = before.map_or(0, |(old, trail)| {
            let same = text
                .chunks_exact(CHECKPOINT_BYTES)
                .zip(old.chunks_exact(CHECKPOINT_BYTES))
                .take_while(|(new, old)| new == old);
            same.count().min(trail.0.len())
        });
        let mut states = Vec::with_capacity(text.len() / CHECKPOINT_BYTES);
        states.extend(before.iter().flat_map(|(_, trail)| &trail.0[..known]).cloned());
        let mut state = states.last().cloned().unwrap_or_default();
        let mut rest = text[known * CHECKPOINT_BYTES..].chunks_exact(CHECKPOINT_BYTES);
        for step in &mut rest {
            state.update(step);
            states.push(state.clone());
        }
        state.update(rest.remainder());
        (hex(state.finalize().as_slice()), Self(states))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_one_that_everybody_computes() {
        assert_eq!(hash_of(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hash_of(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_text_that_begins_like_another_has_its_own_hash() {
        let text = |length: usize| (0..length).map(|at| (at / 7 % 251) as u8).collect::<Vec<_>>();
        let lengths = [
            0,
            1,
            CHECKPOINT_BYTES - 1,
            CHECKPOINT_BYTES,
            CHECKPOINT_BYTES + 1,
            3 * CHECKPOINT_BYTES,
            5 * CHECKPOINT_BYTES + 77,
        ];
        for old in lengths.map(text) {
            let (hash, trail) = HashCheckpoints::of(&old, None);
            assert_eq!(hash, hash_of(&old));
            for new in lengths {
                for changed in
                    [None, Some(0), Some(CHECKPOINT_BYTES), Some(3 * CHECKPOINT_BYTES - 1), Some(new.saturating_sub(1))]
                {
                    let mut new = text(new);
                    if let Some(byte) = changed.and_then(|at| new.get_mut(at)) {
                        *byte ^= 1;
                    }
                    let (hash, trail) = HashCheckpoints::of(&new, Some((&old, &trail)));
                    assert_eq!(hash, hash_of(&new), "{} bytes after {}, {changed:?}", new.len(), old.len());
                    assert_eq!(trail.0.len(), new.len() / CHECKPOINT_BYTES);
                }
            }
        }
    }
}
