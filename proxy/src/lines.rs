//! Bytes of stdin → lines, as they come. A line over the limit is reported once and passed over up to its newline,
//! so that memory stays flat whatever a host sends. Pure.

use trellis_protocol::codec::MESSAGE_LIMIT;

use crate::buffer::{ReadBuffer, SMALL_BUFFER_BYTES};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// The bytes before a newline.
    Whole(&'a [u8]),
    /// Over the limit; its bytes are gone.
    TooLong,
}

#[derive(Debug)]
pub(crate) struct Lines {
    buffer: ReadBuffer,
    /// So many unread bytes hold no newline.
    searched: usize,
    /// Inside a line that is over the limit.
    discarding: bool,
    limit: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Self::with_limit(MESSAGE_LIMIT)
    }
}

impl Lines {
    fn with_limit(limit: usize) -> Self {
        Self { buffer: ReadBuffer::default(), searched: 0, discarding: false, limit }
    }

    /// Where the next bytes go. Lines that are complete must have been taken before.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        // As much again as there is, so that a long line is not copied often.
        let held = self.buffer.unread().len();
        let wanted = held.min((self.limit + SMALL_BUFFER_BYTES).saturating_sub(held));
        self.buffer.room(wanted.max(SMALL_BUFFER_BYTES / 2))
    }

    /// `count` bytes have been put into the room.
    pub(crate) fn add(&mut self, count: usize) {
        self.buffer.add(count);
    }

    /// The next line that is complete.
    pub(crate) fn next(&mut self) -> Option<Line<'_>> {
        loop {
            let unread = self.buffer.unread();
            let Some(found) = unread[self.searched..].iter().position(|byte| *byte == b'\n') else {
                self.searched = unread.len();
                self.buffer.shrink();
                return self.give_up_if_too_long().then_some(Line::TooLong);
            };
            let length = std::mem::take(&mut self.searched) + found;
            if std::mem::take(&mut self.discarding) {
                self.buffer.take(length + 1);
                continue;
            }
            let line = &self.buffer.take(length + 1)[..length];
            return Some(if length <= self.limit { Line::Whole(line) } else { Line::TooLong });
        }
    }

    /// What follows the last newline, when no more will come.
    pub(crate) fn rest(&mut self) -> Option<&[u8]> {
        let length = self.buffer.unread().len();
        (length > 0 && !self.discarding).then(|| self.buffer.take(length))
    }

    /// Drops the beginning of a line that is over the limit; true the first time.
    fn give_up_if_too_long(&mut self) -> bool {
        let too_long = !self.discarding && self.searched > self.limit;
        self.discarding |= too_long;
        if self.discarding {
            self.buffer.take(std::mem::take(&mut self.searched));
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
                let held = lines.buffer.unread().len();
                let room = lines.room();
                most = most.max(held + room.len());
                let count = room.len().min(bytes.len());
                room[..count].copy_from_slice(&bytes[..count]);
                bytes = &bytes[count..];
                lines.add(count);
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
        assert!(check(limit, 60_000, &input, &["too long", "small"]) <= limit + 2 * SMALL_BUFFER_BYTES);

        let mut lines = Lines::with_limit(limit);
        for _ in 0..(limit / 2) / 1000 {
            lines.room()[..1000].fill(b'x');
            lines.add(1000);
            assert_eq!(lines.next(), None);
        }
        lines.room()[0] = b'\n';
        lines.add(1);
        assert!(matches!(lines.next(), Some(Line::Whole(_))));
        assert_eq!(lines.next(), None);
        assert_eq!(lines.room().len(), SMALL_BUFFER_BYTES);
    }
}
