//! A name as one segment of a URI: everything but unreserved characters in percent form, and back.

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

/// The text that a URI's part stands for; none if that is no text, or no percent form.
pub fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let (pair, tail) = tail.split_at_checked(2).filter(|(pair, _)| pair.iter().all(u8::is_ascii_hexdigit))?;
            bytes.push(u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_characters_stay() {
        for (segment, expected) in [("a-b._~9", "a-b._~9"), ("a b/c", "a%20b%2Fc"), ("設", "%E8%A8%AD"), ("", "")] {
            assert_eq!(encoded(segment), expected);
            assert_eq!(decoded(expected).as_deref(), Some(segment));
        }
        for wrong in ["%", "%f", "%fg", "%+f", "%ff"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }
}
