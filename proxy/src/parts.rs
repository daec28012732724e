//! Frames → whole messages. A large answer comes in parts; it is kept until it is whole, because half a line on
//! stdout could not be taken back if the daemon died in the middle. Bounded; pure.

use trellis_protocol::Frame;
use trellis_protocol::codec::ANSWER_LIMIT;
use trellis_protocol::envelope::Part;

/// The daemon sent more than it may.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMuch;

/// Messages of which more is to come.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    open: Vec<(u64, Vec<u8>)>,
}

impl Parts {
    /// Takes the next frame; gives it back whole when it was the last of its message.
    pub(crate) fn join(&mut self, mut frame: Frame) -> Result<Option<Frame>, TooMuch> {
        let place = self.open.iter().position(|(sequence, _)| *sequence == frame.sequence);
        if frame.part == Part::More {
            let held: usize = self.open.iter().map(|(_, bytes)| bytes.len()).sum();
            if held + frame.payload.0.len() > ANSWER_LIMIT {
                return Err(TooMuch);
            }
            match place {
                Some(place) => self.open[place].1.append(&mut frame.payload.0),
                None => self.open.push((frame.sequence, frame.payload.0)),
            }
            return Ok(None);
        }
        if let Some(place) = place {
            let (_, mut bytes) = self.open.swap_remove(place);
            bytes.append(&mut frame.payload.0);
            frame.payload.0 = bytes;
        }
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use trellis_protocol::codec::{PART_LIMIT, parts};
    use trellis_protocol::envelope::Payload;

    use super::*;

    fn frame(sequence: u64, part: Part, text: &str) -> Frame {
        Frame { sequence, part, payload: Payload(text.into()) }
    }

    #[test]
    fn parts_become_one_message_whatever_comes_between() {
        let mut open = Parts::default();
        assert_eq!(open.join(frame(1, Part::More, "a")), Ok(None));
        assert_eq!(open.join(frame(2, Part::More, "x")), Ok(None));
        assert_eq!(open.join(frame(0, Part::Aside, "n")), Ok(Some(frame(0, Part::Aside, "n"))));
        assert_eq!(open.join(frame(1, Part::More, "b")), Ok(None));
        assert_eq!(open.join(frame(2, Part::Answer, "y")), Ok(Some(frame(2, Part::Answer, "xy"))));
        assert_eq!(open.join(frame(1, Part::Answer, "c")), Ok(Some(frame(1, Part::Answer, "abc"))));
        assert!(open.open.is_empty());
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut open = Parts::default();
        let endless = parts(1, vec![b'x'; ANSWER_LIMIT + PART_LIMIT + 1], Part::Answer);
        let ends = endless.into_iter().map(|frame| open.join(frame)).find(Result::is_err);
        assert_eq!(ends, Some(Err(TooMuch)));
    }
}
