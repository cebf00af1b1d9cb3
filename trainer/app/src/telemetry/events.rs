//! Event files for TensorBoard: TFRecord frames with an `Event` protocol buffer each. The encoder
//! supports only scalars; the fields are from `event.proto` and `summary.proto` of TensorFlow.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use assay_core::Clock;

use super::values::{TelemetryError, Values};

/// The file version in the first event.
const VERSION: &str = "brain.Event:2";

/// Largest number of a file within one second; the file name has three digits for it.
const MOST_FILES: u32 = 999;

/// Fields of `Event`.
mod event {
    pub(super) const WALL_TIME: u32 = 1;
    pub(super) const STEP: u32 = 2;
    pub(super) const FILE_VERSION: u32 = 3;
    pub(super) const SUMMARY: u32 = 5;
    pub(super) const SESSION_LOG: u32 = 7;
}

/// Fields of `Summary`, `Summary.Value` and `SessionLog`.
mod summary {
    pub(super) const VALUE: u32 = 1;
    pub(super) const TAG: u32 = 1;
    pub(super) const SIMPLE_VALUE: u32 = 2;
    pub(super) const STATUS: u32 = 1;
    pub(super) const START: u64 = 1;
}

/// An event file.
#[derive(Debug)]
pub struct Events {
    path: PathBuf,
    file: File,
}

impl Events {
    /// Creates a file in the directory. `restarted` is the first step of a resumed run: TensorBoard
    /// then discards earlier events of that step and later ones.
    ///
    /// # Errors
    /// [`TelemetryError::File`].
    pub fn create(
        folder: &Path,
        restarted: Option<u64>,
        clock: &dyn Clock,
    ) -> Result<Self, TelemetryError> {
        let seconds = clock.unix_us() / 1_000_000;
        // TensorBoard reads files in the order of their names, which start with the time.
        let mut number = 0;
        let (path, file) = loop {
            let path = folder.join(format!(
                "events.out.tfevents.{seconds:010}.{number:03}.assay"
            ));
            match File::create_new(&path) {
                Ok(file) => break (path, file),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < MOST_FILES => {
                    number += 1;
                }
                Err(error) => return Err(TelemetryError::File { path, error }),
            }
        };
        let mut events = Self { path, file };
        events.begin(restarted, clock)?;
        Ok(events)
    }

    fn begin(&mut self, restarted: Option<u64>, clock: &dyn Clock) -> Result<(), TelemetryError> {
        let mut first = Message::event(clock, 0);
        first.bytes(event::FILE_VERSION, VERSION.as_bytes());
        self.record(&first)?;
        if let Some(step) = restarted {
            let mut log = Message::default();
            log.integer(summary::STATUS, summary::START);
            let mut start = Message::event(clock, step);
            start.bytes(event::SESSION_LOG, &log.0);
            self.record(&start)?;
        }
        Ok(())
    }

    /// Writes the scalars of a step, at single precision.
    ///
    /// # Errors
    /// [`TelemetryError::File`].
    pub fn write(
        &mut self,
        step: u64,
        values: &Values,
        clock: &dyn Clock,
    ) -> Result<(), TelemetryError> {
        let mut all = Message::default();
        for (name, value) in values {
            let mut scalar = Message::default();
            scalar.bytes(summary::TAG, name.as_bytes());
            scalar.float(summary::SIMPLE_VALUE, *value);
            all.bytes(summary::VALUE, &scalar.0);
        }
        let mut event = Message::event(clock, step);
        event.bytes(event::SUMMARY, &all.0);
        self.record(&event)
    }

    /// Writes a frame: length, its checksum, content, its checksum; all little-endian.
    fn record(&mut self, message: &Message) -> Result<(), TelemetryError> {
        let length = (message.0.len() as u64).to_le_bytes();
        let mut frame = Vec::with_capacity(message.0.len() + 16);
        frame.extend_from_slice(&length);
        frame.extend_from_slice(&masked(crc32c(&length)).to_le_bytes());
        frame.extend_from_slice(&message.0);
        frame.extend_from_slice(&masked(crc32c(&message.0)).to_le_bytes());
        self.file
            .write_all(&frame)
            .map_err(TelemetryError::file(&self.path))
    }
}

/// A protocol buffer message that is being encoded.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn event(clock: &dyn Clock, step: u64) -> Self {
        let seconds = clock.unix_us() as f64 / 1e6;
        let mut event = Self::default();
        event.key(event::WALL_TIME, 1);
        event.0.extend_from_slice(&seconds.to_le_bytes());
        event.integer(event::STEP, step);
        event
    }

    /// Number and wire type of a field.
    fn key(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn integer(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    fn bytes(&mut self, field: u32, content: &[u8]) {
        self.key(field, 2);
        self.varint(content.len() as u64);
        self.0.extend_from_slice(content);
    }

    fn float(&mut self, field: u32, value: f64) {
        self.key(field, 5);
        self.0.extend_from_slice(&(value as f32).to_le_bytes());
    }
}

/// CRC-32C (RFC 3720, appendix B.4): reflected, polynomial 0x1EDC6F41.
fn crc32c(content: &[u8]) -> u32 {
    !content.iter().fold(!0u32, |crc, byte| {
        (crc >> 8) ^ TABLE[((crc ^ u32::from(*byte)) & 0xFF) as usize]
    })
}

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0u32; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0x82F6_3B78
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// The masked checksum of TFRecord, which avoids problems with checksums of data that contains
/// checksums.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xA282_EAD8)
}

#[cfg(test)]
mod tests {
    use assay_core::SystemClock;

    use super::*;

    /// A decoded field.
    #[derive(Debug, Clone, PartialEq)]
    enum Field {
        Integer(u64),
        Double(f64),
        Float(f32),
        Bytes(Vec<u8>),
    }

    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7F) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }

    fn take<const N: usize>(bytes: &mut &[u8]) -> [u8; N] {
        let (head, rest) = bytes.split_first_chunk::<N>().unwrap();
        *bytes = rest;
        *head
    }

    fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let field = match key & 7 {
                0 => Field::Integer(varint(&mut bytes)),
                1 => Field::Double(f64::from_le_bytes(take(&mut bytes))),
                5 => Field::Float(f32::from_le_bytes(take(&mut bytes))),
                2 => {
                    let length = usize::try_from(varint(&mut bytes)).unwrap();
                    let (content, rest) = bytes.split_at(length);
                    bytes = rest;
                    Field::Bytes(content.to_vec())
                }
                other => panic!("wire type {other}"),
            };
            fields.push((key >> 3, field));
        }
        fields
    }

    /// The records of a file; verifies their checksums with a bitwise CRC.
    fn records(mut bytes: &[u8]) -> Vec<Vec<u8>> {
        fn checksum(content: &[u8]) -> u32 {
            let crc = !content.iter().fold(!0u32, |crc, byte| {
                (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                    (crc >> 1) ^ (0x82F6_3B78 & (crc & 1).wrapping_neg())
                })
            });
            crc.rotate_left(17).wrapping_add(0xA282_EAD8)
        }
        let mut records = Vec::new();
        while !bytes.is_empty() {
            let length: [u8; 8] = take(&mut bytes);
            assert_eq!(u32::from_le_bytes(take(&mut bytes)), checksum(&length));
            let (content, rest) =
                bytes.split_at(usize::try_from(u64::from_le_bytes(length)).unwrap());
            bytes = rest;
            assert_eq!(u32::from_le_bytes(take(&mut bytes)), checksum(content));
            records.push(content.to_vec());
        }
        records
    }

    #[test]
    fn checksum_equals_rfc_3720_vectors() {
        // RFC 3720, appendix B.4: 32 bytes of zeros, of ones, and ascending.
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(
            crc32c(&std::array::from_fn::<u8, 32, _>(|index| u8::try_from(
                index
            )
            .unwrap())),
            0x46DD_794E
        );
    }

    #[test]
    fn events_can_be_decoded() {
        let folder = tempfile::tempdir().unwrap();
        let clock = SystemClock::new();
        let mut events = Events::create(folder.path(), Some(300), &clock).unwrap();
        events
            .write(
                300,
                &[("kl".to_owned(), 0.25), ("reward".to_owned(), -1e9)].into(),
                &clock,
            )
            .unwrap();
        let records = records(&std::fs::read(&events.path).unwrap());
        let events: Vec<_> = records.iter().map(|record| fields(record)).collect();
        for event in &events {
            assert!(matches!(event[0], (1, Field::Double(seconds)) if seconds > 1.7e9));
        }
        let bytes = |text: &str| Field::Bytes(text.as_bytes().to_vec());
        assert_eq!(
            events[0][1..],
            [(2, Field::Integer(0)), (3, bytes("brain.Event:2"))]
        );
        assert_eq!(
            events[1][1..],
            [(2, Field::Integer(300)), (7, Field::Bytes(vec![8, 1]))]
        );
        let [_, (2, Field::Integer(300)), (5, Field::Bytes(summary))] = &events[2][..] else {
            panic!("{events:?}")
        };
        let scalars: Vec<_> = fields(summary)
            .into_iter()
            .map(|(field, value)| {
                let (1, Field::Bytes(scalar)) = (field, value) else {
                    panic!("not a value")
                };
                fields(&scalar)
            })
            .collect();
        assert_eq!(
            scalars,
            [
                [(1, bytes("kl")), (2, Field::Float(0.25))],
                [(1, bytes("reward")), (2, Field::Float(-1e9))],
            ]
        );
    }

    #[test]
    fn files_within_one_second_have_different_names() {
        let folder = tempfile::tempdir().unwrap();
        let clock = SystemClock::new();
        let paths = [(); 3].map(|()| Events::create(folder.path(), None, &clock).unwrap().path);
        assert!(paths.is_sorted() && paths[0] != paths[1] && paths[1] != paths[2]);
        assert!(Events::create(&folder.path().join("none"), None, &clock).is_err());
    }
}
