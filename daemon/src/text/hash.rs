//! The hash of a file that users see: bytes in, lower-case hex SHA-256 out.

use sha2::{Digest as _, Sha256};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Of the whole file.
pub fn hash_of(bytes: &[u8]) -> String {
    let digits = |byte: u8| [byte >> 4, byte & 15].map(|half| char::from(DIGITS[usize::from(half)]));
    Sha256::digest(bytes).iter().flat_map(|byte| digits(*byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_one_that_everybody_computes() {
        assert_eq!(hash_of(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hash_of(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
