//! Envelopes, greetings and replies on the socket: whatever can be read can be written, and reads back the same.

use trellis_protocol::codec::{self, LENGTH_BYTES, MARK_BYTES};

pub(crate) fn run(bytes: &[u8]) {
    if let Some(prefix) = bytes.first_chunk() {
        let _ = codec::envelope_length(*prefix);
    }
    if let Some(prefix) = bytes.first_chunk() {
        let _ = codec::mark(*prefix);
    }
    if let Ok(envelope) = codec::decode(bytes.to_vec()) {
        let written = codec::encode(&envelope).expect("what was read can be written");
        assert_eq!(codec::decode(written[LENGTH_BYTES..].to_vec()).expect("it reads"), envelope);
    }
    for number in 0..3 {
        if let Ok(Some(hello)) = codec::decode_hello(number, bytes) {
            let written = codec::encode_hello(number, &hello).expect("what was read can be written");
            assert_eq!(codec::decode_hello(number, &written[MARK_BYTES..]).expect("it reads"), Some(hello));
        }
        if let Ok(Some(reply)) = codec::decode_reply(number, bytes) {
            let written = codec::encode_reply(number, &reply).expect("what was read can be written");
            assert_eq!(codec::decode_reply(number, &written[MARK_BYTES..]).expect("it reads"), Some(reply));
        }
    }
}
