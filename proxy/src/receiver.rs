//! Bytes of the daemon's socket → whole messages. A large answer comes in parts; they are kept until it is whole,
//! because half a line on stdout could not be taken back if the daemon died in the middle. A message that came in one
//! part is handed on from where it was received. Pure.

use std::borrow::Cow;

use trellis_protocol::codec::{self, ANSWER_LIMIT, CodecError, LENGTH_BYTES, PART_LIMIT};
use trellis_protocol::envelope::{CloseReason, Envelope, FrameRole};

use crate::buffer::{ReadBuffer, SMALL_BUFFER_BYTES};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received<'a> {
    /// The next envelope is not here yet.
    Incomplete,
    /// FrameRole of a message of which more is to come.
    Continued,
    /// A whole message, and what it is to the request with this number.
    Message { sequence: u64, role: FrameRole, payload: Cow<'a, [u8]> },
    /// The daemon ends the connection on purpose.
    Closing(CloseReason),
}

#[derive(Debug, Default)]
pub(crate) struct FrameReceiver {
    buffer: ReadBuffer,
    /// Messages of which more is to come, by the number of their request.
    partial: Vec<(u64, Vec<u8>)>,
}

impl FrameReceiver {
    /// Where the next bytes go. It grows with what comes, not with what was announced.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let held = self.buffer.unread().len();
        let missing = self.length().ok().flatten().map_or(0, |length| (LENGTH_BYTES + length).saturating_sub(held));
        self.buffer.room(missing.clamp(SMALL_BUFFER_BYTES / 2, PART_LIMIT))
    }

    /// `count` bytes have been put into the room.
    pub(crate) fn add(&mut self, count: usize) {
        self.buffer.add(count);
    }

    /// The next message, if it is there.
    pub(crate) fn next(&mut self) -> Result<Received<'_>, CodecError> {
        let whole = self.length()?.map(|length| LENGTH_BYTES + length);
        let Some(whole) = whole.filter(|whole| *whole <= self.buffer.unread().len()) else {
            self.buffer.shrink();
            return Ok(Received::Incomplete);
        };
        let body = &self.buffer.take(whole)[LENGTH_BYTES..];
        let Some(frame) = codec::view_frame(body) else {
            return match codec::decode(body.to_vec())? {
                Envelope::Close(bye) => Ok(Received::Closing(bye)),
                _ => Err(CodecError::Garbled("it is not meant for a proxy".to_owned())),
            };
        };
        let begun = self.partial.iter().position(|(sequence, _)| *sequence == frame.sequence);
        if frame.role == FrameRole::Continued {
            let held: usize = self.partial.iter().map(|(_, bytes)| bytes.len()).sum();
            if held + frame.payload.len() > ANSWER_LIMIT {
                return Err(CodecError::TooLong { length: held + frame.payload.len(), limit: ANSWER_LIMIT });
            }
            match begun {
                Some(place) => self.partial[place].1.extend_from_slice(frame.payload),
                None => self.partial.push((frame.sequence, frame.payload.to_vec())),
            }
            return Ok(Received::Continued);
        }
        let mut payload = Cow::Borrowed(frame.payload);
        if let Some(place) = begun {
            let (_, mut message) = self.partial.swap_remove(place);
            message.extend_from_slice(frame.payload);
            payload = Cow::Owned(message);
        }
        Ok(Received::Message { sequence: frame.sequence, role: frame.role, payload })
    }

    /// The length of the next envelope's body, once that is known.
    fn length(&self) -> Result<Option<usize>, CodecError> {
        self.buffer.unread().first_chunk().map(|prefix| codec::envelope_length(*prefix)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use trellis_protocol::Frame;
    use trellis_protocol::envelope::Payload;

    use super::*;

    fn encoded(sequence: u64, role: FrameRole, text: &str) -> Vec<u8> {
        let frame = Frame { sequence, role, payload: Payload(text.into()) };
        codec::encode(&Envelope::Frame(frame)).expect("fits")
    }

    /// Feeds bytes in pieces and writes down the messages that come out.
    fn received(bytes: &[u8], piece: usize) -> Vec<String> {
        let mut receiver = FrameReceiver::default();
        let mut found = Vec::new();
        for mut bytes in bytes.chunks(piece) {
            while !bytes.is_empty() {
                let room = receiver.room();
                let count = room.len().min(bytes.len());
                room[..count].copy_from_slice(&bytes[..count]);
                receiver.add(count);
                bytes = &bytes[count..];
                loop {
                    match receiver.next().expect("good bytes") {
                        Received::Incomplete => break,
                        Received::Continued => {}
                        Received::Message { sequence, role, payload } => {
                            found.push(format!("{sequence} {role:?} {}", String::from_utf8_lossy(&payload)));
                        }
                        Received::Closing(bye) => found.push(format!("{bye:?}")),
                    }
                }
            }
        }
        assert!(receiver.partial.is_empty());
        found
    }

    #[test]
    fn parts_become_one_message_whatever_comes_between() {
        let mut bytes = [
            encoded(1, FrameRole::Continued, "a"),
            encoded(2, FrameRole::Continued, "x"),
            encoded(0, FrameRole::Unsolicited, "n"),
            encoded(1, FrameRole::Continued, "b"),
            encoded(2, FrameRole::Answer, "y"),
            encoded(1, FrameRole::Answer, "c"),
        ]
        .concat();
        bytes.extend(codec::encode(&Envelope::Close(CloseReason::Draining)).expect("fits"));
        for piece in [1, 7, 1000] {
            assert_eq!(received(&bytes, piece), ["0 Unsolicited n", "2 Answer xy", "1 Answer abc", "Draining"]);
        }
    }

    #[test]
    fn a_large_part_is_received_and_its_memory_comes_back() {
        let large = "x".repeat(PART_LIMIT);
        let bytes = encoded(1, FrameRole::Answer, &large);
        assert_eq!(received(&bytes, 60_000), [format!("1 Answer {large}")]);
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut receiver = FrameReceiver::default();
        let part = encoded(1, FrameRole::Continued, &"x".repeat(PART_LIMIT));
        let mut parts = 0;
        loop {
            let room = receiver.buffer.room(part.len());
            room[..part.len()].copy_from_slice(&part);
            receiver.add(part.len());
            match receiver.next() {
                Ok(received) => assert_eq!(received, Received::Continued),
                Err(error) => break assert!(matches!(error, CodecError::TooLong { .. }), "{error}"),
            }
            parts += 1;
        }
        assert_eq!(parts, ANSWER_LIMIT / PART_LIMIT);
    }

    #[test]
    fn what_is_no_message_for_a_proxy_is_an_error() {
        let order =
            codec::encode(&Envelope::ControlRequest(trellis_protocol::control::ControlRequest::Status)).expect("fits");
        for bytes in [order, u32::MAX.to_le_bytes().to_vec(), vec![1, 0, 0, 0, 9]] {
            let mut receiver = FrameReceiver::default();
            receiver.room()[..bytes.len()].copy_from_slice(&bytes);
            receiver.add(bytes.len());
            assert!(receiver.next().is_err(), "{bytes:?}");
        }
    }
}
