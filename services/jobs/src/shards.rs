//! Divides the lines of a request into shards of whole groups, in bounded memory.

use assay_core::ErrorCode;
use assay_record::job::NewShard;
use assay_wire::request::decode_item;
use assay_wire::{Problem, Unexpanded};
use serde::Deserialize;

use crate::ShardLimits;

/// The start of some editors' files.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The lines that were received and are not in a finished shard.
pub(crate) struct ShardBuilder {
    limits: ShardLimits,
    /// The start of a line whose end was not received.
    partial: Vec<u8>,
    shard: NewShard,
    /// The group of the last item.
    group: Option<String>,
    /// The length of the shard up to the first item of that group.
    group_start: (usize, u32),
    /// Number of the next line, from 1.
    line: u64,
    /// Whether a line was a valid item, and the problem of the first one that was not.
    is_checked: bool,
    first_problem: Option<Problem>,
}

/// The part of an item that determines its shard.
#[derive(Deserialize)]
struct Grouped {
    #[serde(default)]
    group: Option<String>,
}

impl ShardBuilder {
    pub(crate) fn new(limits: ShardLimits) -> Self {
        Self {
            limits,
            partial: Vec::new(),
            shard: empty(0, 1),
            group: None,
            group_start: (0, 0),
            line: 1,
            is_checked: false,
            first_problem: None,
        }
    }

    /// Bytes that are in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.partial.len() + self.shard.content.len()
    }

    /// Number of the next shard.
    pub(crate) fn shards(&self) -> u32 {
        self.shard.no
    }

    /// Adds bytes of the request; passes finished shards to `finished`.
    ///
    /// # Errors
    /// A [`Problem`]: a line or a group is too large, or no line of the first shard is an item.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        finished: &mut Vec<NewShard>,
    ) -> Result<(), Problem> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            if self.partial.is_empty() {
                finished.extend(self.add(line)?);
            } else {
                self.partial.extend_from_slice(line);
                let line = std::mem::take(&mut self.partial);
                finished.extend(self.add(&line)?);
            }
        }
        self.partial.extend_from_slice(bytes);
        self.reject_long(self.partial.len())
    }

    /// The last shard; `None` if there are no lines.
    ///
    /// # Errors
    /// As [`ShardBuilder::push`].
    pub(crate) fn finish(&mut self, finished: &mut Vec<NewShard>) -> Result<(), Problem> {
        if !self.partial.is_empty() {
            let mut line = std::mem::take(&mut self.partial);
            line.push(b'\n');
            finished.extend(self.add(&line)?);
        }
        if self.shard.items > 0 {
            finished.push(self.close()?);
        }
        Ok(())
    }

    /// Adds a line with its end; returns the shard that ends before it.
    fn add(&mut self, line: &[u8]) -> Result<Option<NewShard>, Problem> {
        self.reject_long(line.len())?;
        let line = if self.line == 1 {
            line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
        } else {
            line
        };
        let is_blank = line.iter().all(u8::is_ascii_whitespace);
        let mut ended = None;
        if !is_blank {
            let group = group_of(line);
            let continues = group.is_some() && group == self.group;
            let is_full = self.shard.items as usize >= self.limits.items
                || self.shard.content.len() >= self.limits.bytes;
            if is_full && !continues {
                ended = Some(self.close()?);
            }
            if !continues {
                self.group_start = (self.shard.content.len(), self.shard.items);
                self.group = group;
            }
            self.check(line);
            self.shard.items += 1;
        }
        self.shard.content.extend_from_slice(line);
        self.reject_large_group()?;
        self.line += 1;
        Ok(ended)
    }

    /// Ends the shard.
    fn close(&mut self) -> Result<NewShard, Problem> {
        if let (false, Some(problem)) = (self.is_checked, self.first_problem.take()) {
            let message = format!(
                "none of the first {} lines is an item, and so the job is not accepted: {}",
                self.shard.items, problem.message
            );
            return Err(Problem {
                message: message.into(),
                ..problem
            });
        }
        let next = empty(self.shard.no + 1, self.line);
        self.group_start = (0, 0);
        Ok(std::mem::replace(&mut self.shard, next))
    }

    /// Notes whether a line is an item, until one is: a request of which no line is one was
    /// probably sent by mistake.
    fn check(&mut self, line: &[u8]) {
        if self.is_checked {
            return;
        }
        let decoded = std::str::from_utf8(line)
            .map_err(|error| Problem::new(ErrorCode::MalformedJson, format!("not UTF-8: {error}")))
            .and_then(|text| decode_item(text, "", &mut Unexpanded));
        match decoded {
            Ok(_) => self.is_checked = true,
            Err(problem) => {
                let number = self.line;
                self.first_problem.get_or_insert_with(|| Problem {
                    message: format!("line {number}: {}", problem.message).into(),
                    ..problem
                });
            }
        }
    }

    fn reject_long(&self, bytes: usize) -> Result<(), Problem> {
        if bytes <= self.limits.group_bytes {
            return Ok(());
        }
        let (line, most) = (self.line, self.limits.group_bytes);
        let message = format!("line {line} has more than {most} bytes; shorten the item");
        Err(Problem::new(ErrorCode::BodyTooLarge, message))
    }

    fn reject_large_group(&self) -> Result<(), Problem> {
        let (bytes, items) = self.group_start;
        let fits = self.shard.content.len() - bytes <= self.limits.group_bytes
            && (self.shard.items - items) as usize <= self.limits.group_items;
        let Some(group) = self.group.as_ref().filter(|_| !fits) else {
            return Ok(());
        };
        let message = format!(
            "line {}: the group `{group}` has more than {} items or {} bytes; the items of a group \
             are graded together, so make it smaller",
            self.line, self.limits.group_items, self.limits.group_bytes
        );
        Err(Problem::new(ErrorCode::TooManyItems, message))
    }
}

fn empty(no: u32, first_line: u64) -> NewShard {
    NewShard {
        no,
        first_line,
        items: 0,
        content: Vec::new(),
    }
}

/// The group of an item. A line that is not an object has none; what is wrong with it is found when
/// it is graded.
fn group_of(line: &[u8]) -> Option<String> {
    serde_json::from_slice::<Grouped>(line).ok()?.group
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ShardLimits = ShardLimits {
        items: 2,
        bytes: 1_000,
        group_items: 4,
        group_bytes: 400,
    };

    fn item(id: &str, group: Option<&str>) -> String {
        let group = group.map_or_else(String::new, |group| format!("\"group\":\"{group}\","));
        format!(
            "{{\"id\":\"{id}\",{group}\"completion\":\"4\",\
             \"task\":{{\"type\":\"math\",\"answer\":\"4\"}}}}\n"
        )
    }

    /// Divides a request that arrives in pieces of `piece` bytes.
    fn divide(text: &str, piece: usize) -> Result<Vec<NewShard>, Problem> {
        let mut builder = ShardBuilder::new(LIMITS);
        let mut shards = Vec::new();
        for bytes in text.as_bytes().chunks(piece) {
            builder.push(bytes, &mut shards)?;
        }
        builder.finish(&mut shards)?;
        Ok(shards)
    }

    #[test]
    fn ends_shards_between_groups_whatever_the_pieces() {
        let lines = [
            item("a", None),
            item("b", Some("g")),
            "\n".to_owned(),
            item("c", Some("g")),
            item("d", Some("g")),
            item("e", Some("h")),
            "not an item\n".to_owned(),
            item("f", None).trim_end().to_owned(),
        ];
        let text = lines.concat();
        let whole = divide(&text, text.len()).unwrap();
        let shapes: Vec<_> = whole
            .iter()
            .map(|shard| (shard.no, shard.first_line, shard.items))
            .collect();
        assert_eq!(shapes, [(0, 1, 4), (1, 6, 2), (2, 8, 1)]);
        let joined: Vec<u8> = whole
            .iter()
            .flat_map(|shard| shard.content.clone())
            .collect();
        assert_eq!(
            joined,
            [text.as_bytes(), b"\n"].concat(),
            "with the end of the last line"
        );
        for piece in [1, 7, 64] {
            assert_eq!(divide(&text, piece).unwrap(), whole, "{piece}");
        }
    }

    #[test]
    fn rejects_what_cannot_be_graded_together() {
        let large: String = (0..5).map(|n| item(&n.to_string(), Some("g"))).collect();
        let problem = divide(&large, 50).unwrap_err();
        assert_eq!(problem.code, ErrorCode::TooManyItems);
        assert!(
            problem.message.contains("line 5: the group `g`"),
            "{problem}"
        );
        let long = "x".repeat(LIMITS.group_bytes + 1);
        let problem = divide(&long, 50).unwrap_err();
        assert_eq!(problem.code, ErrorCode::BodyTooLarge);
    }

    #[test]
    fn rejects_a_request_that_starts_with_no_item() {
        for (text, place) in [
            ("question,answer\n1+1,2\n3,4\n", "line 1: "),
            ("\n{\"completion\":\"4\"}\n", "line 2: "),
        ] {
            let problem = divide(text, 50).unwrap_err();
            assert!(problem.message.contains(place), "{problem}");
        }
        let later = format!("1\n{}", item("a", None));
        assert_eq!(divide(&later, 50).unwrap().len(), 1);
        assert_eq!(divide("\n \n", 50).unwrap(), []);
    }

    #[test]
    fn ignores_a_byte_order_mark() {
        let text = format!("\u{feff}{}", item("a", None));
        let shards = divide(&text, 2).unwrap();
        assert_eq!(shards[0].content, item("a", None).as_bytes());
    }
}
