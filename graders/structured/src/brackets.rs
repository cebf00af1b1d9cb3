//! Which brackets of a text belong together.

/// The brackets of a text.
pub(crate) struct Brackets {
    /// For each byte that is a matched bracket, the index of its partner and one; else 0.
    partners: Vec<u32>,
}

impl Brackets {
    /// Matches brackets in one pass. Brackets in double quotes count only outside of braces and
    /// square brackets, because quotes in prose need not be paired. A half-open interval such as
    /// `[0, 1)` is closed.
    pub(crate) fn of(text: &str) -> Self {
        let mut partners = vec![0_u32; text.len()];
        let mut open = Open::default();
        let (mut in_string, mut is_escaped) = (false, false);
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_string => is_escaped = true,
                b'"' if in_string || open.braces + open.squares > 0 => in_string = !in_string,
                _ if in_string => {}
                b'{' | b'[' | b'(' => open.push(byte, at),
                b'}' | b']' | b')' => {
                    if let Some(opening) = open.close(byte) {
                        partners[opening] = index(at);
                        partners[at] = index(opening);
                    }
                }
                _ => {}
            }
        }
        Self { partners }
    }

    /// The index of the bracket that belongs to the one at this index.
    pub(crate) fn partner(&self, at: usize) -> Option<usize> {
        let partner = usize::try_from(*self.partners.get(at)?).ok()?;
        partner.checked_sub(1)
    }
}

/// An index and one. Texts are shorter than 4 GiB; a bracket beyond that has no partner.
fn index(at: usize) -> u32 {
    u32::try_from(at + 1).unwrap_or(0)
}

/// The brackets that are open.
#[derive(Default)]
struct Open {
    stack: Vec<(u8, usize)>,
    braces: usize,
    squares: usize,
}

impl Open {
    fn count(&mut self, bracket: u8) -> Option<&mut usize> {
        match bracket {
            b'{' => Some(&mut self.braces),
            b'[' => Some(&mut self.squares),
            _ => None,
        }
    }

    fn push(&mut self, bracket: u8, at: usize) {
        self.stack.push((bracket, at));
        if let Some(count) = self.count(bracket) {
            *count += 1;
        }
    }

    fn pop(&mut self) -> Option<(u8, usize)> {
        let (bracket, at) = self.stack.pop()?;
        if let Some(count) = self.count(bracket) {
            *count -= 1;
        }
        Some((bracket, at))
    }

    /// Removes the bracket that this one closes, and those inside it, which nothing closes. Returns
    /// its index.
    fn close(&mut self, bracket: u8) -> Option<usize> {
        let top = self.stack.last()?.0;
        let opening = match bracket {
            b'}' if self.braces > 0 => b'{',
            b']' if self.squares > 0 => b'[',
            b']' if top == b'(' => b'(',
            b')' if matches!(top, b'(' | b'[') => top,
            _ => return None,
        };
        loop {
            let (bracket, at) = self.pop()?;
            if bracket == opening {
                return Some(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_brackets_of_prose_and_documents() {
        let partner = |text: &str| Brackets::of(text).partner(text.find(['{', '[']).unwrap());
        assert_eq!(partner("a {b: [1]} c"), Some(9));
        assert_eq!(partner(r#"{"}": "\"}"}"#), Some(11));
        assert_eq!(partner("{a: [1}"), Some(6));
        assert_eq!(partner("on [0, 1) it"), Some(8));
        assert_eq!(partner("[x :( y]"), Some(7));
        assert_eq!(partner("5\" [a]"), Some(5));
        assert_eq!(partner("{a"), None);
        let text = "{a}} (0, 1]";
        assert_eq!(Brackets::of(text).partner(3), None);
        assert_eq!(Brackets::of(text).partner(10), Some(5));
    }
}
