//! Rejects Parquet pages that claim more values than they can contain. The library reserves memory
//! for the claimed number of values, and a failed allocation would end the process.

use parquet::basic::{Encoding, Type};
use parquet::bloom_filter::Sbbf;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::record::reader::RowIter;
use parquet::schema::types::{ColumnDescPtr, Type as SchemaType};

/// Maximum number of values of a page whose lengths are decoded at once: 64 MiB of lengths. Writers
/// put about ten thousand values into a page.
const MAX_VALUES: u64 = 1 << 24;

/// A file whose pages are checked before they are decoded.
pub(super) struct CheckedFile<R>(pub(super) R);

impl<R: FileReader> FileReader for CheckedFile<R> {
    fn metadata(&self) -> &ParquetMetaData {
        self.0.metadata()
    }

    fn num_row_groups(&self) -> usize {
        self.0.num_row_groups()
    }

    fn get_row_group(&self, at: usize) -> Result<Box<dyn RowGroupReader + '_>> {
        Ok(Box::new(CheckedGroup(self.0.get_row_group(at)?)))
    }

    fn get_row_iter(&self, projection: Option<SchemaType>) -> Result<RowIter<'_>> {
        RowIter::from_file(projection, self)
    }
}

struct CheckedGroup<'r>(Box<dyn RowGroupReader + 'r>);

impl RowGroupReader for CheckedGroup<'_> {
    fn metadata(&self) -> &RowGroupMetaData {
        self.0.metadata()
    }

    fn num_columns(&self) -> usize {
        self.0.num_columns()
    }

    fn get_column_page_reader(&self, at: usize) -> Result<Box<dyn PageReader>> {
        let column = self.metadata().schema_descr().column(at);
        Ok(Box::new(CheckedPages {
            pages: self.0.get_column_page_reader(at)?,
            column,
        }))
    }

    fn get_column_bloom_filter(&self, at: usize) -> Option<&Sbbf> {
        self.0.get_column_bloom_filter(at)
    }

    fn get_row_iter(&self, projection: Option<SchemaType>) -> Result<RowIter<'_>> {
        RowIter::from_row_group(projection, self)
    }
}

struct CheckedPages {
    pages: Box<dyn PageReader>,
    column: ColumnDescPtr,
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        page.map(|page| check(page, &self.column)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        let page = self.pages.take_deferred_dictionary()?;
        page.map(|page| check(page, &self.column)).transpose()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

fn check(page: Page, column: &ColumnDescPtr) -> Result<Page> {
    if let Page::DictionaryPage {
        buf, num_values, ..
    } = &page
    {
        // Every value takes at least one byte, except an empty value of fixed length.
        let max = buf.len() as u64 + 1;
        reject_above(u64::from(*num_values), max)?;
        return Ok(page);
    }
    let lengths = match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        // Lengths of prefixes, then lengths of suffixes.
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => 0,
    };
    let is_text = matches!(
        column.physical_type(),
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY
    );
    if lengths > 0 && is_text {
        let max = u64::from(page.num_values()).min(MAX_VALUES);
        let mut values = PageBytes {
            bytes: page.buffer(),
            at: values_start(&page, column)?,
        };
        for _ in 0..lengths {
            reject_above(values.skip_deltas(max)?, max)?;
        }
    }
    Ok(page)
}

fn reject_above(values: u64, max: u64) -> Result<()> {
    if values > max {
        return Err(broken(format!(
            "a page claims {values} values, but can contain at most {max}"
        )));
    }
    Ok(())
}

fn broken(message: impl Into<String>) -> ParquetError {
    ParquetError::General(message.into())
}

/// The offset of the values of a data page, after its levels.
fn values_start(page: &Page, column: &ColumnDescPtr) -> Result<usize> {
    let (repetition, definition) = (column.max_rep_level(), column.max_def_level());
    match page {
        Page::DataPage {
            buf,
            num_values,
            def_level_encoding,
            rep_level_encoding,
            ..
        } => {
            let mut at = 0;
            for (max_level, encoding) in [
                (repetition, rep_level_encoding),
                (definition, def_level_encoding),
            ] {
                if max_level > 0 {
                    at += level_bytes(
                        max_level,
                        *encoding,
                        *num_values,
                        buf.get(at..).unwrap_or_default(),
                    )?;
                }
            }
            Ok(at)
        }
        Page::DataPageV2 {
            def_levels_byte_len,
            rep_levels_byte_len,
            ..
        } => Ok(*def_levels_byte_len as usize + *rep_levels_byte_len as usize),
        Page::DictionaryPage { .. } => Ok(0),
    }
}

/// Size of the levels at the start of `bytes`, in a page of version 1.
fn level_bytes(max_level: i16, encoding: Encoding, values: u32, bytes: &[u8]) -> Result<usize> {
    if encoding == Encoding::RLE {
        let length = bytes
            .first_chunk()
            .map(|length| u32::from_le_bytes(*length));
        let length = length.ok_or_else(|| broken("a page ends within its levels"))?;
        return Ok(4 + length as usize);
    }
    let bits = u64::from(16 - max_level.leading_zeros());
    usize::try_from((u64::from(values) * bits).div_ceil(8))
        .map_err(|error| broken(error.to_string()))
}

/// A cursor over the bytes of a page.
struct PageBytes<'p> {
    bytes: &'p [u8],
    at: usize,
}

impl PageBytes<'_> {
    /// Skips integers in the encoding `DELTA_BINARY_PACKED` and returns their number. Stops after
    /// the header if there are more than `max`.
    fn skip_deltas(&mut self, max: u64) -> Result<u64> {
        let (block, mini_blocks, values) = (self.varint()?, self.varint()?, self.varint()?);
        let _first = self.varint()?;
        if values > max {
            return Ok(values);
        }
        let in_mini_block = block.checked_div(mini_blocks).filter(|values| *values > 0);
        let in_mini_block =
            in_mini_block.ok_or_else(|| broken("a page has an empty block of lengths"))?;
        let mut left = values.saturating_sub(1);
        while left > 0 {
            let _least_delta = self.varint()?;
            let widths = self.at;
            self.advance(mini_blocks)?;
            for width in self.bytes.get(widths..self.at).unwrap_or_default() {
                if left > 0 {
                    let bits = u64::from(*width).saturating_mul(in_mini_block);
                    self.at = self
                        .at
                        .saturating_add(usize::try_from(bits / 8).unwrap_or(usize::MAX));
                }
                left = left.saturating_sub(in_mini_block);
            }
        }
        Ok(values)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self
                .bytes
                .get(self.at)
                .ok_or_else(|| broken("a page ends within its lengths"))?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(broken("a page has a number of more than 64 bits"))
    }

    fn advance(&mut self, count: u64) -> Result<()> {
        let end = usize::try_from(count)
            .ok()
            .and_then(|count| self.at.checked_add(count));
        self.at = end
            .filter(|end| *end <= self.bytes.len())
            .ok_or_else(|| broken("a page ends within its lengths"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    /// Encoded lengths that are all 0, in blocks of 128, with a header that claims `values`.
    fn lengths(values: u64, blocks: usize) -> Vec<u8> {
        let header = [varint(128), varint(4), varint(values), varint(0)].concat();
        [header, [0; 5].repeat(blocks)].concat()
    }

    #[test]
    fn skips_to_the_end_of_lengths() {
        let bytes = [lengths(3, 1), lengths(257, 2), vec![7]].concat();
        let mut read = PageBytes {
            bytes: &bytes,
            at: 0,
        };
        assert_eq!(read.skip_deltas(1_000).unwrap(), 3);
        assert_eq!(read.skip_deltas(1_000).unwrap(), 257);
        assert_eq!(bytes[read.at..], [7]);
    }

    #[test]
    fn stops_at_headers_that_claim_too_many_lengths() {
        let bytes = lengths(1 << 40, 0);
        assert_eq!(
            PageBytes {
                bytes: &bytes,
                at: 0
            }
            .skip_deltas(1_000)
            .unwrap(),
            1 << 40
        );
        assert!(
            PageBytes {
                bytes: &lengths(500, 1),
                at: 0
            }
            .skip_deltas(1_000)
            .is_err()
        );
        assert!(
            PageBytes {
                bytes: &[0; 8],
                at: 0
            }
            .skip_deltas(1_000)
            .is_err()
        );
        assert!(
            PageBytes {
                bytes: &[0, 0, 5, 0, 0],
                at: 0
            }
            .skip_deltas(1_000)
            .is_err()
        );
    }
}
