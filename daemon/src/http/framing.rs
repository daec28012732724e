//! The raw bytes of requests, followed just closely enough to see where a head begins and ends.
//!
//! The library that parses requests mends what must not be mended: two lengths that agree, a length beside
//! chunks. Two programs that read such a request may disagree about where it ends, so it is refused. Bytes
//! come in as they arrive; nothing is kept but the current line.

use zeroize::Zeroizing;

/// The longest block of header lines, and its most lines.
pub const HEAD_LIMIT: usize = 16 << 10;
/// Header lines in one request.
pub const HEAD_LINES: usize = 64;

/// Where in a request the bytes are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum FramingPosition {
    #[default]
    Between,
    /// In the request line or the header lines.
    Head,
    /// So many bytes of the body are to come.
    Body(u64),
    /// At the line that says how long a chunk is.
    ChunkSize,
    /// So many bytes of a chunk, and the line's end behind it, are to come.
    Chunk(u64),
    /// In the lines behind the last chunk.
    Trailer,
}

/// Follows the requests of one connection.
#[derive(Debug, Default)]
pub struct FramingCheck {
    place: FramingPosition,
    /// What has come of a line whose end has not.
    line: Zeroizing<Vec<u8>>,
    head: FramingHead,
    broken: bool,
}

/// What matters of the head that is being read.
#[derive(Debug, Default)]
struct FramingHead {
    bytes: usize,
    lines: usize,
    lengths: usize,
    length: u64,
    chunked: bool,
}

impl FramingCheck {
    /// Whether a head has begun and not ended.
    pub fn is_in_head(&self) -> bool {
        self.place == FramingPosition::Head
    }

    /// Whether a request came whose end nobody can be sure of. It stays so: nothing after it can be trusted.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Takes what has arrived.
    pub fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.broken {
            bytes = match self.place {
                FramingPosition::Body(left) | FramingPosition::Chunk(left) => {
                    let (rest, left) = skip(bytes, left);
                    self.place = match (self.place, left) {
                        (FramingPosition::Body(_), 0) => FramingPosition::Between,
                        (FramingPosition::Body(_), left) => FramingPosition::Body(left),
                        (_, 0) => FramingPosition::ChunkSize,
                        (_, left) => FramingPosition::Chunk(left),
                    };
                    rest
                }
                _ => self.take_line(bytes),
            };
        }
    }

    /// Takes the rest of one line; returns what comes after it.
    fn take_line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if self.place == FramingPosition::Between {
            self.place = FramingPosition::Head;
            self.head = FramingHead::default();
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (part, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
        self.head.bytes += part.len();
        if self.line.len() + part.len() > HEAD_LIMIT
            || self.head.bytes > 4 * HEAD_LIMIT && self.place != FramingPosition::ChunkSize
        {
            // Too long for the parser as well, which says so; there is nothing left to follow.
            self.broken = true;
        } else if end.is_some() && self.line.is_empty() {
            self.ended(part.trim_ascii_end());
        } else {
            self.keep(part);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                self.ended(line.trim_ascii_end());
            }
        }
        rest
    }

    /// Keeps the beginning of a line. It may hold a key, so none of its copies stays in memory.
    fn keep(&mut self, part: &[u8]) {
        let mut longer = Zeroizing::new(Vec::with_capacity(self.line.len() + part.len()));
        longer.extend_from_slice(&self.line);
        longer.extend_from_slice(part);
        self.line = longer;
    }

    fn ended(&mut self, line: &[u8]) {
        match self.place {
            FramingPosition::Head if line.is_empty() && self.head.lines == 0 => {
                // Empty lines before a request are passed over.
                self.place = FramingPosition::Between;
            }
            FramingPosition::Head if line.is_empty() => self.head_ended(),
            FramingPosition::Head => {
                self.head.lines += 1;
                if self.head.lines > 1 {
                    self.header(line);
                }
            }
            FramingPosition::ChunkSize => match chunk_size(line) {
                Some(0) => self.place = FramingPosition::Trailer,
                Some(size) => self.place = FramingPosition::Chunk(size + 2),
                None => self.broken = true,
            },
            FramingPosition::Trailer if line.is_empty() => self.place = FramingPosition::Between,
            _ => {}
        }
    }

    fn header(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':');
        let Some((name, value)) = colon.map(|colon| (&line[..colon], line[colon + 1..].trim_ascii())) else { return };
        if name.eq_ignore_ascii_case(b"content-length") {
            self.head.lengths += 1;
            let digits = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            match digits.and_then(|digits| digits.parse().ok()) {
                Some(length) => self.head.length = length,
                None => self.broken = true,
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.broken |= self.head.chunked || !value.eq_ignore_ascii_case(b"chunked");
            self.head.chunked = true;
        }
    }

    fn head_ended(&mut self) {
        let FramingHead { lengths, length, chunked, .. } = self.head;
        self.broken |= lengths > 1 || (chunked && lengths > 0);
        self.place = match (chunked, length) {
            (true, _) => FramingPosition::ChunkSize,
            (false, 0) => FramingPosition::Between,
            (false, length) => FramingPosition::Body(length),
        };
    }
}

/// Passes over as many bytes as are there and wanted.
fn skip(bytes: &[u8], wanted: u64) -> (&[u8], u64) {
    let there = usize::try_from(wanted).unwrap_or(usize::MAX).min(bytes.len());
    (&bytes[there..], wanted - there as u64)
}

fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii();
    let text = std::str::from_utf8(digits).ok()?;
    let plain = !text.is_empty() && text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(text, 16).ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// After these bytes: whether it is broken, and whether it is in a head.
    #[track_caller]
    fn check(text: &str, broken: bool, in_head: bool) {
        for step in [1, 7, text.len()] {
            let mut framing = FramingCheck::default();
            text.as_bytes().chunks(step).for_each(|part| framing.take(part));
            assert_eq!(framing.is_broken(), broken, "{text:?} in steps of {step}");
            assert!(broken || framing.is_in_head() == in_head, "{text:?} in steps of {step}");
        }
    }

    #[test]
    fn requests_follow_each_other() {
        check("GET / HTTP/1.1\r\nHost: a\r\n\r\n", false, false);
        check("GET / HTTP/1.1\r\nHost: a\r\n", false, true);
        check("\r\n\r\nGET / HT", false, true);
        check("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nGET /", false, false);
        check("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nGET /GET /", false, true);
        check("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nGET /\r\n0\r\n\r\n", false, false);
        check("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\nG", false, true);
    }

    #[test]
    fn a_request_whose_end_is_unsure_is_seen() {
        check("POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", true, false);
        check("POST / HTTP/1.1\r\nContent-Length: 5\r\ncontent-length: 6\r\n\r\n", true, false);
        check("POST / HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\n", true, false);
        check("POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\n", true, false);
        check("POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", true, false);
        check("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", true, false);
        check("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", true, false);
        check("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", true, false);
        check("GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", true, false);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_followed(bytes in proptest::collection::vec(any::<u8>(), 0..600), step in 1_usize..40) {
            let mut framing = FramingCheck::default();
            bytes.chunks(step).for_each(|part| framing.take(part));
        }
    }
}
