//! `LIKE` and `GLOB` with metered cost. In SQLite, a pattern with many wildcards on a long text is
//! slow within one instruction.

/// An element of a pattern, by what it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Element {
    /// Any characters, or none.
    Any,
    /// One character.
    One,
    /// This character.
    Literal(char),
    /// One of these characters, or none of them.
    Set {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    elements: Vec<Element>,
    ignore_case: bool,
}

impl Pattern {
    /// Parses a pattern of `LIKE` with `%` and `_`, which ignores the case of ASCII letters; `None`
    /// for a pattern that matches nothing.
    pub(crate) fn like(text: &str, escape: Option<char>) -> Option<Self> {
        let mut elements = Vec::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            elements.push(match character {
                // A pattern that ends with the escape character matches nothing.
                _ if Some(character) == escape => Element::Literal(characters.next()?),
                '%' => Element::Any,
                '_' => Element::One,
                literal => Element::Literal(literal),
            });
        }
        Some(Self {
            elements,
            ignore_case: true,
        })
    }

    /// Parses a pattern of `GLOB` with `*`, `?` and sets in brackets; `None` for a pattern with an
    /// unclosed bracket, which matches nothing.
    pub(crate) fn glob(text: &str) -> Option<Self> {
        let mut elements = Vec::new();
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            elements.push(match character {
                '*' => Element::Any,
                '?' => Element::One,
                '[' => {
                    let negated = characters.next_if_eq(&'^').is_some();
                    let mut ranges = Vec::new();
                    // A closing bracket in first position is literal.
                    if characters.next_if_eq(&']').is_some() {
                        ranges.push((']', ']'));
                    }
                    loop {
                        match characters.next()? {
                            ']' => break,
                            from => {
                                let mut ahead = characters.clone();
                                match (ahead.next(), ahead.next()) {
                                    (Some('-'), Some(to)) if to != ']' => {
                                        ranges.push((from, to));
                                        characters = ahead;
                                    }
                                    _ => ranges.push((from, from)),
                                }
                            }
                        }
                    }
                    Element::Set { negated, ranges }
                }
                literal => Element::Literal(literal),
            });
        }
        Some(Self {
            elements,
            ignore_case: false,
        })
    }

    /// Whether the whole text matches, and the number of characters read; `None` if it exceeds
    /// `max_characters`.
    pub(crate) fn matches(&self, text: &[char], max_characters: usize) -> (Option<bool>, usize) {
        let (mut element, mut at, mut characters_read) = (0, 0, 0);
        // Where to continue after a mismatch: the position after the last wildcard, and a position
        // in the text. Leftmost matches suffice.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            // A set is searched character by character.
            characters_read += match self.elements.get(element) {
                Some(Element::Set { ranges, .. }) => 1 + ranges.len(),
                _ => 1,
            };
            if characters_read > max_characters {
                return (None, characters_read);
            }
            match (self.elements.get(element), text.get(at)) {
                (Some(Element::Any), _) => {
                    element += 1;
                    if element == self.elements.len() {
                        return (Some(true), characters_read);
                    }
                    retry = Some((element, at));
                    continue;
                }
                (Some(expected), Some(character)) if self.accepts(expected, *character) => {
                    (element, at) = (element + 1, at + 1);
                    continue;
                }
                (None, None) => return (Some(true), characters_read),
                // The text has ended, and a later start would only shorten it.
                (Some(_), None) => return (Some(false), characters_read),
                _ => {}
            }
            let Some((back, from)) = retry else {
                return (Some(false), characters_read);
            };
            retry = Some((back, from + 1));
            (element, at) = (back, from + 1);
        }
    }

    fn accepts(&self, element: &Element, character: char) -> bool {
        match element {
            Element::Any | Element::One => true,
            Element::Literal(literal) if self.ignore_case => {
                literal.eq_ignore_ascii_case(&character)
            }
            Element::Literal(literal) => *literal == character,
            Element::Set { negated, ranges } => {
                ranges
                    .iter()
                    .any(|(from, to)| (*from..=*to).contains(&character))
                    != *negated
            }
        }
    }
}
