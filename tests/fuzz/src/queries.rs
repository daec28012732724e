//! Queries of a search: none of them is a syntax error, and none is a fault.

use trellisd::index::query::Query;

pub(crate) fn run(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        Query::read(text);
    }
}
