//! Envelope ↔ bytes. The only module that names bincode.
//!
//! An envelope is a `u32` length (little-endian) and that many bytes. A greeting or reply is a `u16`
//! protocol number, a `u32` length and that many bytes. Lengths are checked before anything is
//! allocated, and nothing here reads or writes by itself: callers bring the bytes.

use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::envelope::{Envelope, Frame, Hello, Part, Payload, Reply};
use crate::version;

/// The longest JSON-RPC message a host may send.
pub const MESSAGE_LIMIT: usize = 16 << 20;
/// The longest answer the daemon may send, in parts.
pub const ANSWER_LIMIT: usize = 64 << 20;
/// The longest part of an answer.
pub const PART_LIMIT: usize = 1 << 20;
/// Room for what an envelope adds to its payload.
const OVERHEAD: usize = 64 << 10;
/// The longest envelope.
const ENVELOPE_LIMIT: usize = MESSAGE_LIMIT + OVERHEAD;
/// The longest greeting: it may carry one message to resume with, and settings.
const GREETING_LIMIT: usize = MESSAGE_LIMIT + 16 * OVERHEAD;
/// Bytes before an envelope's body.
pub const LENGTH_BYTES: usize = 4;
/// How a frame begins, and how many bytes of it stand before its payload.
const FRAME: u32 = 0;
const FRAME_HEAD: usize = 24;
/// Bytes before a greeting's body.
pub const MARK_BYTES: usize = 6;

/// Why some bytes are not a message of ours.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// The length in front of a message is over the limit for its kind.
    #[error("a message of {length} bytes is over the limit of {limit}")]
    TooLong {
        /// As announced.
        length: usize,
        /// As allowed.
        limit: usize,
    },
    /// The bytes do not decode.
    #[error("the bytes are no message of this protocol: {0}")]
    Garbled(String),
}

type Config = Configuration<LittleEndian, Fixint, Limit<GREETING_LIMIT>>;
const CONFIG: Config = bincode::config::legacy().with_limit::<GREETING_LIMIT>();

/// Where an envelope's body ends, from the bytes before it.
pub fn envelope_length(prefix: [u8; LENGTH_BYTES]) -> Result<usize, CodecError> {
    within(u32::from_le_bytes(prefix) as usize, ENVELOPE_LIMIT)
}

/// An envelope with its length in front.
pub fn encode(envelope: &Envelope) -> Result<Vec<u8>, CodecError> {
    let payload = if let Envelope::Frame(frame) = envelope { frame.payload.0.len() } else { 0 };
    let mut bytes = Vec::with_capacity(LENGTH_BYTES + FRAME_HEAD + payload);
    bytes.resize(LENGTH_BYTES, 0);
    append(envelope, &mut bytes)?;
    let length = within(bytes.len() - LENGTH_BYTES, ENVELOPE_LIMIT)?;
    bytes[..LENGTH_BYTES].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(bytes)
}

/// The body of an envelope. A frame's payload stays in the memory that it came in.
pub fn decode(mut body: Vec<u8>) -> Result<Envelope, CodecError> {
    if let Ok(((FRAME, sequence, part, length), used)) = start::<(u32, u64, Part, u64)>(&body)
        && u64::try_from(body.len() - used) == Ok(length)
    {
        body.drain(..used);
        return Ok(Envelope::Frame(Frame { sequence, part, payload: Payload(body) }));
    }
    read(&body)
}

/// Splits an answer into frames of at most [`PART_LIMIT`] bytes; the last one carries `end`.
pub fn parts(sequence: u64, message: Vec<u8>, end: Part) -> Vec<Frame> {
    if message.len() <= PART_LIMIT {
        return vec![Frame { sequence, part: end, payload: Payload(message) }];
    }
    let count = message.len().div_ceil(PART_LIMIT);
    let part = |(index, bytes): (usize, &[u8])| Frame {
        sequence,
        part: if index + 1 == count { end } else { Part::More },
        payload: Payload(bytes.to_vec()),
    };
    message.chunks(PART_LIMIT).enumerate().map(part).collect()
}

/// The number in front of a greeting or reply, and the length of its body.
pub fn mark(prefix: [u8; MARK_BYTES]) -> Result<(u16, usize), CodecError> {
    let [a, b, length @ ..] = prefix;
    Ok((u16::from_le_bytes([a, b]), within(u32::from_le_bytes(length) as usize, GREETING_LIMIT)?))
}

/// A greeting in the words of `number`.
pub fn encode_hello(number: u16, hello: &Hello) -> Result<Vec<u8>, CodecError> {
    marked(number, hello)
}

/// The body of a greeting; `None` when its number is not one this build reads.
pub fn decode_hello(number: u16, body: &[u8]) -> Result<Option<Hello>, CodecError> {
    if version::readable(number) { read(body).map(Some) } else { Ok(None) }
}

/// A reply in the words of `number`.
pub fn encode_reply(number: u16, reply: &Reply) -> Result<Vec<u8>, CodecError> {
    marked(number, reply)
}

/// The body of a reply; `None` when its number is not one this build reads.
pub fn decode_reply(number: u16, body: &[u8]) -> Result<Option<Reply>, CodecError> {
    if version::readable(number) { read(body).map(Some) } else { Ok(None) }
}

fn marked(number: u16, body: &impl Serialize) -> Result<Vec<u8>, CodecError> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend([0; LENGTH_BYTES]);
    append(body, &mut bytes)?;
    let length = within(bytes.len() - MARK_BYTES, GREETING_LIMIT)?;
    bytes[2..MARK_BYTES].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(bytes)
}

fn append(value: &impl Serialize, bytes: &mut Vec<u8>) -> Result<(), CodecError> {
    bincode::serde::encode_into_std_write(value, bytes, CONFIG)
        .map(|_| ())
        .map_err(|_| CodecError::Garbled("it cannot be written".to_owned()))
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, CodecError> {
    let (value, used) = start(body)?;
    if used == body.len() {
        Ok(value)
    } else {
        Err(CodecError::Garbled(format!("{} bytes are left over", body.len() - used)))
    }
}

/// What stands first, and how many bytes it takes.
fn start<T: DeserializeOwned>(body: &[u8]) -> Result<(T, usize), CodecError> {
    // bincode's own words are the `Debug` form of its error: of little use to people, and large in the proxy.
    bincode::serde::decode_from_slice(body, CONFIG)
        .map_err(|_| CodecError::Garbled("a field is cut off or has a value it cannot have".to_owned()))
}

fn within(length: usize, limit: usize) -> Result<usize, CodecError> {
    if length <= limit { Ok(length) } else { Err(CodecError::TooLong { length, limit }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::{Caller, Reason, Refused};
    use crate::{Surface, envelope::Bye};

    fn frame(bytes: &[u8]) -> Envelope {
        Envelope::Frame(Frame { sequence: 7, part: Part::Answer, payload: Payload(bytes.to_vec()) })
    }

    fn hello() -> Hello {
        Hello {
            build: "0.1.0".into(),
            pid: 1,
            caller: Caller::Proxy,
            directory: b"/p\xff".to_vec(),
            surface: Surface::default(),
            environment: vec![("VAULT_ROOT".into(), "/v".into())],
            time_zone: "Asia/Tokyo".into(),
            umask: 0o022,
            resume: None,
        }
    }

    #[test]
    fn an_envelope_survives_the_journey() {
        for envelope in [frame(b"{}"), frame(&vec![b'x'; MESSAGE_LIMIT]), Envelope::Bye(Bye::Done)] {
            let bytes = encode(&envelope).expect("fits");
            let length = envelope_length(bytes[..LENGTH_BYTES].try_into().expect("four bytes")).expect("fits");
            assert_eq!(length, bytes.len() - LENGTH_BYTES);
            assert_eq!(decode(bytes[LENGTH_BYTES..].to_vec()).expect("decodes"), envelope);
            assert_eq!(read::<Envelope>(&bytes[LENGTH_BYTES..]).expect("decodes"), envelope);
        }
    }

    #[test]
    fn lengths_are_refused_before_anything_is_allocated() {
        assert!(envelope_length(u32::MAX.to_le_bytes()).is_err());
        assert!(mark([1, 0, 0xff, 0xff, 0xff, 0xff]).is_err());
        let mut lying = encode(&frame(b"{}")).expect("fits");
        let place = lying.len() - 2 - 8;
        lying[place..place + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(decode(lying[LENGTH_BYTES..].to_vec()).is_err());
    }

    #[test]
    fn what_is_left_over_is_an_error() {
        let mut bytes = encode(&frame(b"{}")).expect("fits");
        bytes.push(0);
        assert!(decode(bytes[LENGTH_BYTES..].to_vec()).is_err());
        assert!(decode(Vec::new()).is_err());
    }

    #[test]
    fn a_greeting_is_read_in_our_number_and_the_one_before() {
        for number in [version::CURRENT, version::CURRENT - 1] {
            let bytes = encode_hello(number, &hello()).expect("fits");
            let (read, length) = mark(bytes[..MARK_BYTES].try_into().expect("six bytes")).expect("fits");
            assert_eq!((read, length), (number, bytes.len() - MARK_BYTES));
            assert_eq!(decode_hello(read, &bytes[MARK_BYTES..]).expect("decodes"), Some(hello()));
        }
        assert_eq!(decode_hello(version::CURRENT + 1, b"anything").expect("not looked at"), None);
    }

    #[test]
    fn a_reply_survives_the_journey() {
        let refused = Refused { reason: Reason::Version, message: "m".into(), hint: "h".into() };
        let bytes = encode_reply(version::CURRENT, &Reply::Refused(refused.clone())).expect("fits");
        let reply = decode_reply(version::CURRENT, &bytes[MARK_BYTES..]).expect("decodes");
        assert_eq!(reply, Some(Reply::Refused(refused)));
    }

    #[test]
    fn a_large_answer_travels_in_parts() {
        let message: Vec<u8> = (0..(2 * PART_LIMIT + 5)).map(|index| index as u8).collect();
        let frames = parts(9, message.clone(), Part::Answer);
        assert_eq!(frames.iter().map(|frame| frame.part).collect::<Vec<_>>(), [Part::More, Part::More, Part::Answer]);
        let joined: Vec<u8> = frames.into_iter().flat_map(|frame| frame.payload.0).collect();
        assert_eq!(joined, message);
        assert_eq!(parts(9, Vec::new(), Part::Aside).len(), 1);
    }
}
