//! Bytes that were read and not used yet, with room for more. What a large message needs is given back when all of it has
//! been used. Pure.

/// The size the buffer begins with and returns to.
pub(crate) const SMALL_BUFFER_BYTES: usize = 4 << 10;

#[derive(Debug, Default)]
pub(crate) struct ReadBuffer {
    bytes: Vec<u8>,
    /// What stands before this has been used.
    start: usize,
    /// What stands behind this is room.
    end: usize,
}

impl ReadBuffer {
    /// The bytes that have not been used.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Uses the next `count` bytes; they stay readable until room is asked for.
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        self.start += count;
        &self.bytes[self.start - count..self.start]
    }

    /// Room for at least `count` more bytes.
    pub(crate) fn room(&mut self, count: usize) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.bytes.len() - self.end < count {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let wanted = (self.end + count).max(SMALL_BUFFER_BYTES);
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
        &mut self.bytes[self.end..]
    }

    /// Gives back what a large message needed, if nothing is unread.
    pub(crate) fn shrink(&mut self) {
        if self.start == self.end && self.bytes.len() > SMALL_BUFFER_BYTES {
            *self = Self::default();
        }
    }

    /// `count` bytes have been put into the room.
    pub(crate) fn add(&mut self, count: usize) {
        self.end += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(buffer: &mut ReadBuffer, bytes: &[u8]) {
        buffer.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        buffer.add(bytes.len());
    }

    #[test]
    fn bytes_come_out_as_they_went_in() {
        let mut buffer = ReadBuffer::default();
        put(&mut buffer, b"one two");
        assert_eq!(buffer.take(4), b"one ");
        put(&mut buffer, &[b'x'; SMALL_BUFFER_BYTES]);
        assert_eq!(buffer.take(3), b"two");
        assert_eq!(buffer.unread(), [b'x'; SMALL_BUFFER_BYTES]);
    }

    #[test]
    fn what_has_been_used_makes_room_for_what_comes() {
        let mut buffer = ReadBuffer::default();
        for _ in 0..100 {
            put(&mut buffer, &[b'x'; 1000]);
            buffer.take(999);
        }
        assert_eq!((buffer.unread().len(), buffer.bytes.len()), (100, SMALL_BUFFER_BYTES));
    }

    #[test]
    fn a_large_message_leaves_nothing_behind() {
        let mut buffer = ReadBuffer::default();
        put(&mut buffer, &[b'x'; 1 << 20]);
        buffer.take((1 << 20) - 1);
        buffer.shrink();
        assert_eq!(buffer.unread(), b"x", "not while something is unread");
        buffer.take(1);
        buffer.shrink();
        assert_eq!(buffer.bytes.capacity(), 0);
        assert_eq!(buffer.room(1).len(), SMALL_BUFFER_BYTES);
    }
}
