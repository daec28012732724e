//! Envelope ↔ bytes. The only module of the wire that names bincode.
//!
//! An envelope is a `u32` length (little-endian) and that many bytes. A greeting or reply is a `u16`
//! protocol number, a `u32` length and that many bytes. Lengths are checked before anything is
//! allocated, and nothing here reads or writes by itself: callers bring the bytes.

use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::envelope::{Envelope, Frame, FrameRole, Hello, Payload, Reply};
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
    TooLong { length: usize, limit: usize },
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
    if let Envelope::Frame(Frame { sequence, role, payload }) = envelope {
        return encode_frame(FrameView { sequence: *sequence, role: *role, payload: &payload.0 });
    }
    let mut bytes = vec![0; LENGTH_BYTES];
    append(envelope, &mut bytes)?;
    with_length(bytes)
}

/// A frame as an envelope with its length in front.
pub fn encode_frame(frame: FrameView<'_>) -> Result<Vec<u8>, CodecError> {
    let mut bytes = Vec::with_capacity(LENGTH_BYTES + FRAME_HEAD + frame.payload.len());
    bytes.resize(LENGTH_BYTES, 0);
    append(&(FRAME, frame.sequence, frame.role, frame.payload.len() as u64), &mut bytes)?;
    bytes.extend_from_slice(frame.payload);
    with_length(bytes)
}

fn with_length(mut bytes: Vec<u8>) -> Result<Vec<u8>, CodecError> {
    let length = within(bytes.len() - LENGTH_BYTES, ENVELOPE_LIMIT)?;
    bytes[..LENGTH_BYTES].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(bytes)
}

/// The body of an envelope. A frame's payload stays in the memory that it came in.
pub fn decode(mut body: Vec<u8>) -> Result<Envelope, CodecError> {
    if let Some(FrameView { sequence, role, payload }) = view_frame(&body) {
        let head = body.len() - payload.len();
        body.drain(..head);
        return Ok(Envelope::Frame(Frame { sequence, role, payload: Payload(body) }));
    }
    read(&body)
}

/// A frame whose payload is still where it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameView<'a> {
    /// As in [`Frame`].
    pub sequence: u64,
    /// As in [`Frame`].
    pub role: FrameRole,
    /// As in [`Frame`].
    pub payload: &'a [u8],
}

/// The body of an envelope that is a frame, without a copy; `None` if it is anything else.
pub fn view_frame(body: &[u8]) -> Option<FrameView<'_>> {
    let ((FRAME, sequence, role, length), head) = start::<(u32, u64, FrameRole, u64)>(body).ok()? else { return None };
    let payload = &body[head..];
    (u64::try_from(payload.len()) == Ok(length)).then_some(FrameView { sequence, role, payload })
}

/// Splits an answer into frames of at most [`PART_LIMIT`] bytes; the last one carries `end`.
pub fn parts(sequence: u64, message: Vec<u8>, end: FrameRole) -> Vec<Frame> {
    if message.len() <= PART_LIMIT {
        return vec![Frame { sequence, role: end, payload: Payload(message) }];
    }
    let count = message.len().div_ceil(PART_LIMIT);
    let frame = |(index, bytes): (usize, &[u8])| Frame {
        sequence,
        role: if index + 1 == count { end } else { FrameRole::Continued },
        payload: Payload(bytes.to_vec()),
    };
    message.chunks(PART_LIMIT).enumerate().map(frame).collect()
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
    use crate::Surface;
    use crate::control::{ControlReply, ControlRequest};
    use crate::envelope::{
        Caller, CloseReason, RefusalReason, Refused, Resume, SessionKey, UnansweredRequest, Welcome,
    };

    fn frame(bytes: &[u8]) -> Envelope {
        Envelope::Frame(Frame { sequence: 7, role: FrameRole::Answer, payload: Payload(bytes.to_vec()) })
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
        for envelope in [frame(b"{}"), frame(&vec![b'x'; MESSAGE_LIMIT]), Envelope::Close(CloseReason::Done)] {
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
        let refused = Refused { reason: RefusalReason::Version, message: "m".into(), hint: "h".into() };
        let bytes = encode_reply(version::CURRENT, &Reply::Refused(refused.clone())).expect("fits");
        let reply = decode_reply(version::CURRENT, &bytes[MARK_BYTES..]).expect("decodes");
        assert_eq!(reply, Some(Reply::Refused(refused)));
    }

    #[test]
    fn a_large_answer_travels_in_parts() {
        let message: Vec<u8> = (0..(2 * PART_LIMIT + 5)).map(|index| index as u8).collect();
        let frames = parts(9, message.clone(), FrameRole::Answer);
        assert_eq!(
            frames.iter().map(|frame| frame.role).collect::<Vec<_>>(),
            [FrameRole::Continued, FrameRole::Continued, FrameRole::Answer]
        );
        let joined: Vec<u8> = frames.into_iter().flat_map(|frame| frame.payload.0).collect();
        assert_eq!(joined, message);
        assert_eq!(parts(9, Vec::new(), FrameRole::Unsolicited).len(), 1);
    }

    /// What earlier builds wrote is read by later ones: neither fields nor variants may change places.
    #[test]
    fn the_bytes_of_every_message_stay_as_they_are() {
        let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let resumed = Resume {
            session: SessionKey(0x0102),
            initialize: Some(Payload(b"i".to_vec())),
            replay: vec![Payload(b"r".to_vec())],
            unanswered: vec![UnansweredRequest { sequence: 3, acknowledged: true }],
        };
        let surface = Surface::default().with_families("v").and_then(|it| it.with_tools("+a,-b")).expect("good flags");
        let hello = Hello { surface, resume: Some(resumed), caller: Caller::CommandLine, ..hello() };
        assert_eq!(
            hex(encode_hello(1, &hello).expect("fits")),
            "0100cb0000000500000000000000302e312e30010000000100000003000000000000002f70ff0100000000000000010000000000000076020000000000000000000000010000000000000061010000000100000000000000620001000000000000000a000000000000005641554c545f524f4f5402000000000000002f760a00000000000000417369612f546f6b796f1200000001020100000000000000000000000000000101000000000000006901000000000000000100000000000000720100000000000000030000000000000001"
        );
        let welcome = Welcome { build: "b".into(), session: SessionKey(1), notice: Some("n".into()) };
        let mut replies = vec![Reply::Welcome(welcome)];
        for reason in [RefusalReason::Version, RefusalReason::Surface, RefusalReason::Draining, RefusalReason::Busy] {
            replies.push(Reply::Refused(Refused { reason, message: "m".into(), hint: "h".into() }));
        }
        let replies = replies.iter().map(|reply| hex(encode_reply(1, reply).expect("fits")));
        assert_eq!(
            replies.collect::<Vec<_>>(),
            [
                "01002700000000000000010000000000000062010000000000000000000000000000000101000000000000006e",
                "01001a000000010000000000000001000000000000006d010000000000000068",
                "01001a000000010000000100000001000000000000006d010000000000000068",
                "01001a000000010000000200000001000000000000006d010000000000000068",
                "01001a000000010000000300000001000000000000006d010000000000000068"
            ]
        );
        let envelopes = [
            Envelope::Frame(Frame { sequence: 1, role: FrameRole::Continued, payload: Payload(b"p".to_vec()) }),
            Envelope::Frame(Frame { sequence: 1, role: FrameRole::Answer, payload: Payload(b"p".to_vec()) }),
            Envelope::Frame(Frame { sequence: 1, role: FrameRole::Unsolicited, payload: Payload(b"p".to_vec()) }),
            Envelope::ControlRequest(ControlRequest::Status),
            Envelope::ControlRequest(ControlRequest::Stop),
            Envelope::ControlRequest(ControlRequest::HandOver),
            Envelope::ControlRequest(ControlRequest::SyncBarrier { milliseconds: 5 }),
            Envelope::ControlReply(ControlReply::Leaving { pid: 6 }),
            Envelope::ControlReply(ControlReply::Synced { everything: true }),
            Envelope::Close(CloseReason::Done),
            Envelope::Close(CloseReason::Draining),
            Envelope::Close(CloseReason::Dropped),
        ];
        let envelopes = envelopes.iter().map(|envelope| hex(encode(envelope).expect("fits")));
        assert_eq!(
            envelopes.collect::<Vec<_>>(),
            [
                "1900000000000000010000000000000000000000010000000000000070",
                "1900000000000000010000000000000001000000010000000000000070",
                "1900000000000000010000000000000002000000010000000000000070",
                "080000000100000000000000",
                "080000000100000001000000",
                "080000000100000002000000",
                "0c000000010000000300000005000000",
                "0c000000020000000100000006000000",
                "09000000020000000200000001",
                "080000000300000000000000",
                "080000000300000001000000",
                "080000000300000002000000"
            ]
        );
    }
}
