//! Bytes of stdin → lines, as they come. A line over the limit is reported once and passed over up to its newline,
//! so that memory stays flat whatever a host sends; after a large line the buffer becomes small again. Pure.

use trellis_protocol::codec::MESSAGE_LIMIT;

/// How much is read at once, and the size the buffer returns to.
const SMALL: usize = 4 << 10;
/// A buffer beyond this is given back once it is empty.
const LARGE: usize = 64 << 10;

/// What was found between two newlines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Its bytes, without the newline.
    Whole(&'a [u8]),
    /// Over the limit; its bytes are gone.
    TooLong,
}

/// Collects bytes until they are lines.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Bytes that are no lines yet, and room for more.
    buffer: Vec<u8>,
    /// What came before this has been handed out.
    start: usize,
    /// Up to here there is no newline after `start`.
    searched: usize,
    /// Behind this is room.
    end: usize,
    /// Inside a line that is over the limit.
    discarding: bool,
    limit: usize,
}

impl Lines {
    pub(crate) fn new() -> Self {
        Self::with_limit(MESSAGE_LIMIT)
    }

    fn with_limit(limit: usize) -> Self {
        Self { buffer: vec![0; SMALL], start: 0, searched: 0, end: 0, discarding: false, limit }
    }

    /// Where the next bytes go. Lines that are complete must have been taken before.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.searched, self.end) = (0, 0, 0);
            if self.buffer.len() > LARGE {
                self.buffer = vec![0; SMALL];
            }
        } else if self.start > 0 && self.buffer.len() - self.end < SMALL / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.searched -= self.start;
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.end < SMALL / 2 {
            let wanted = (self.buffer.len() * 2).min(self.limit + SMALL).max(self.end + SMALL / 2);
            self.buffer.resize(wanted, 0);
        }
        &mut self.buffer[self.end..]
    }

    /// `count` bytes have been put into the room.
    pub(crate) fn add(&mut self, count: usize) {
        self.end += count;
    }

    /// The next line that is complete.
    pub(crate) fn next(&mut self) -> Option<Line<'_>> {
        loop {
            let Some(found) = self.buffer[self.searched..self.end].iter().position(|byte| *byte == b'\n') else {
                self.searched = self.end;
                return self.give_up_if_too_long().then_some(Line::TooLong);
            };
            let (start, newline) = (self.start, self.searched + found);
            (self.start, self.searched) = (newline + 1, newline + 1);
            if std::mem::take(&mut self.discarding) {
                continue;
            }
            let fits = newline - start <= self.limit;
            return Some(if fits { Line::Whole(&self.buffer[start..newline]) } else { Line::TooLong });
        }
    }

    /// What follows the last newline, when no more will come.
    pub(crate) fn rest(&mut self) -> Option<&[u8]> {
        let start = std::mem::replace(&mut self.start, self.end);
        (start < self.end && !self.discarding).then(|| &self.buffer[start..self.end])
    }

    /// Drops the beginning of a line that is over the limit; true the first time.
    fn give_up_if_too_long(&mut self) -> bool {
        let too_long = !self.discarding && self.end - self.start > self.limit;
        self.discarding |= too_long;
        if self.discarding {
            self.start = self.end;
        }
        too_long
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `input` in pieces and writes down what comes out.
    fn check(limit: usize, piece: usize, input: &[u8], expected: &[&str]) -> usize {
        let mut lines = Lines::with_limit(limit);
        let (mut found, mut most) = (Vec::new(), 0);
        for mut bytes in input.chunks(piece) {
            while !bytes.is_empty() {
                let room = lines.room();
                let count = room.len().min(bytes.len());
                room[..count].copy_from_slice(&bytes[..count]);
                bytes = &bytes[count..];
                lines.add(count);
                most = most.max(lines.buffer.len());
                while let Some(line) = lines.next() {
                    found.push(match line {
                        Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                        Line::TooLong => "too long".to_owned(),
                    });
                }
            }
        }
        found.extend(lines.rest().map(|rest| format!("rest {}", String::from_utf8_lossy(rest))));
        assert_eq!(found, expected, "in pieces of {piece}");
        most
    }

    #[test]
    fn lines_do_not_depend_on_how_they_come() {
        for piece in [1, 2, 3, 1000] {
            check(10, piece, b"one\n\ntwo\r\nthree", &["one", "", "two\r", "rest three"]);
            check(10, piece, b"", &[]);
        }
    }

    #[test]
    fn a_line_over_the_limit_is_reported_once_and_passed_over() {
        for piece in [1, 4, 1000] {
            check(
                5,
                piece,
                b"12345\n123456\nok\n12345678901234567890\nok\n123456789",
                &["12345", "too long", "ok", "too long", "ok", "too long"],
            );
        }
    }

    #[test]
    fn memory_stays_flat_and_comes_back() {
        let limit = 1 << 20;
        let mut input = vec![b'x'; 8 * limit];
        input.extend(b"\nsmall\n");
        assert!(check(limit, 60_000, &input, &["too long", "small"]) <= limit + 2 * SMALL);

        let mut lines = Lines::with_limit(limit);
        for _ in 0..(limit / 2) / 1000 {
            lines.room()[..1000].fill(b'x');
            lines.add(1000);
            assert_eq!(lines.next(), None);
        }
        lines.room()[0] = b'\n';
        lines.add(1);
        assert!(matches!(lines.next(), Some(Line::Whole(_))));
        lines.room();
        assert_eq!(lines.buffer.len(), SMALL);
    }
}
