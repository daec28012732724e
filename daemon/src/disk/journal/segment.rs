//! Records ↔ the bytes of a log segment: a format number, then frames of length, checksum and JSON.
//!
//! Damage hides only what it hit: reading goes on with the next frame whose checksum holds, wherever that begins.

use std::io;

use super::JournalRecord;

/// The first bytes of every segment, whatever its format number.
const MAGIC: &[u8; 7] = b"TRLSJ\0\0";
/// Another number means another format: the file is left to the program that knows it.
const FORMAT_NUMBER: u8 = 1;
/// Magic and format number.
pub(super) const SEGMENT_HEADER_BYTES: usize = MAGIC.len() + 1;
/// Bytes in front of a record: its length and the beginning of its digest.
const RECORD_HEADER_BYTES: usize = 12;
/// No record is longer: an answer has a limit, too.
const MAX_RECORD_BYTES: usize = 128 << 20;

/// What the bytes of a segment are.
#[derive(Debug, PartialEq)]
pub(super) enum SegmentContent {
    Records(SegmentRecords),
    /// Written by another version of the program.
    OtherFormat,
    /// Nothing was ever recorded in it.
    Unused,
    /// Not a single record is left of whatever it was.
    Garbage,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct SegmentRecords {
    pub(super) records: Vec<JournalRecord>,
    /// Up to the end of the last record.
    pub(super) used_bytes: u64,
    /// Places in front of that end which cannot be read.
    pub(super) damaged: usize,
}

/// What a new segment begins with.
pub(super) fn segment_header() -> [u8; SEGMENT_HEADER_BYTES] {
    let mut header = [FORMAT_NUMBER; SEGMENT_HEADER_BYTES];
    header[..MAGIC.len()].copy_from_slice(MAGIC);
    header
}

pub(super) fn encode(entry: &JournalRecord) -> io::Result<Vec<u8>> {
    frame(&serde_json::to_vec(entry)?)
}

/// Length and checksum in front of a body.
pub(super) fn frame(body: &[u8]) -> io::Result<Vec<u8>> {
    let length =
        u32::try_from(body.len()).ok().filter(|_| body.len() <= MAX_RECORD_BYTES).ok_or(io::ErrorKind::FileTooLarge)?;
    let mut record = Vec::with_capacity(RECORD_HEADER_BYTES + body.len());
    record.extend(length.to_le_bytes());
    record.extend(checksum(body));
    record.extend(body);
    Ok(record)
}

pub(super) fn decode(bytes: &[u8]) -> SegmentContent {
    let has_magic = bytes.starts_with(MAGIC);
    if has_magic && bytes.get(MAGIC.len()).is_some_and(|number| *number != FORMAT_NUMBER) {
        return SegmentContent::OtherFormat;
    }
    // A segment is filled with zeros before its first record.
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    if end == 0 || (has_magic && end <= SEGMENT_HEADER_BYTES) {
        return SegmentContent::Unused;
    }
    let found = records_in(&bytes[..end]);
    // A first record that was cut off while it was written leaves the header alone.
    if found.records.is_empty() && !has_magic { SegmentContent::Garbage } else { SegmentContent::Records(found) }
}

/// Every whole record. A torn end is no damage: that is how a crash leaves the last record.
fn records_in(bytes: &[u8]) -> SegmentRecords {
    let mut found = SegmentRecords { used_bytes: SEGMENT_HEADER_BYTES as u64, ..SegmentRecords::default() };
    let (mut place, mut is_torn) = (SEGMENT_HEADER_BYTES, false);
    while place < bytes.len() {
        let Some(body) = unframe(&bytes[place..]) else {
            is_torn = true;
            place += 1;
            continue;
        };
        let record = serde_json::from_slice(body);
        found.damaged += usize::from(std::mem::take(&mut is_torn)) + usize::from(record.is_err());
        found.records.extend(record);
        place += RECORD_HEADER_BYTES + body.len();
        found.used_bytes = place as u64;
    }
    found
}

/// The body of a frame that begins here, if its checksum holds.
pub(super) fn unframe(bytes: &[u8]) -> Option<&[u8]> {
    let (head, rest) = bytes.split_at_checked(RECORD_HEADER_BYTES)?;
    let (length, expected) = head.split_at(4);
    let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
    // The first byte of every body is looked at before a digest is made of all of it.
    let body = rest.get(..length).filter(|body| matches!(body.first(), Some(b'{' | b'[')))?;
    (checksum(body) == expected).then_some(body)
}

fn checksum(body: &[u8]) -> [u8; RECORD_HEADER_BYTES - 4] {
    let mut check = [0; RECORD_HEADER_BYTES - 4];
    check.copy_from_slice(&blake3::hash(body).as_bytes()[..RECORD_HEADER_BYTES - 4]);
    check
}
