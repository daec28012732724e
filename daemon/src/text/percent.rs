//! A name as one segment of a URI: everything but unreserved characters in percent form.

/// Of a segment; a slash in it is no separator any more.
pub fn encoded(segment: &str) -> String {
    let mut encoded = String::with_capacity(segment.len());
    for byte in segment.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_characters_stay() {
        for (segment, expected) in [("a-b._~9", "a-b._~9"), ("a b/c", "a%20b%2Fc"), ("設", "%E8%A8%AD"), ("", "")] {
            assert_eq!(encoded(segment), expected);
        }
    }
}
