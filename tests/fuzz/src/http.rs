//! Heads and framing of HTTP requests: it makes no difference in which pieces the bytes arrive.

use trellisd::http::framing::FramingCheck;

pub(crate) fn run(bytes: &[u8]) {
    let mut whole = FramingCheck::default();
    whole.take(bytes);
    let mut pieces = FramingCheck::default();
    bytes.chunks(1).for_each(|piece| pieces.take(piece));
    assert_eq!(whole.is_broken(), pieces.is_broken());
    assert!(whole.is_broken() || whole.is_in_head() == pieces.is_in_head());
}
