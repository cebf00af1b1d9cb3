//! `LIKE` and `GLOB` with metered cost: a pattern with many stars on a long text is slow within
//! one instruction.

/// What one element of a pattern matches.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
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
    places: Vec<Place>,
    ignore_case: bool,
}

impl Pattern {
    /// A pattern of `LIKE`: `%`, `_`, letters of ASCII in either case.
    pub(crate) fn like(text: &str, escape: Option<char>) -> Option<Self> {
        let mut places = Vec::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            places.push(match character {
                // An escape at the end matches nothing.
                _ if Some(character) == escape => Place::Literal(characters.next()?),
                '%' => Place::Any,
                '_' => Place::One,
                literal => Place::Literal(literal),
            });
        }
        Some(Self {
            places,
            ignore_case: true,
        })
    }

    /// A pattern of `GLOB`: `*`, `?`, sets in brackets; `None` for one that matches nothing, whose
    /// bracket is not closed.
    pub(crate) fn glob(text: &str) -> Option<Self> {
        let mut places = Vec::new();
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            places.push(match character {
                '*' => Place::Any,
                '?' => Place::One,
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
                    Place::Set { negated, ranges }
                }
                literal => Place::Literal(literal),
            });
        }
        Some(Self {
            places,
            ignore_case: false,
        })
    }

    /// Whether the whole text matches, and how many characters were read; `None` if more than
    /// `most`.
    pub(crate) fn matches(&self, text: &[char], most: usize) -> (Option<bool>, usize) {
        let (mut place, mut at, mut looked) = (0, 0, 0);
        // After the last star: the position in the pattern, and in the text then. Leftmost
        // matches suffice.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            // A set is searched character by character.
            looked += match self.places.get(place) {
                Some(Place::Set { ranges, .. }) => 1 + ranges.len(),
                _ => 1,
            };
            if looked > most {
                return (None, looked);
            }
            match (self.places.get(place), text.get(at)) {
                (Some(Place::Any), _) => {
                    place += 1;
                    if place == self.places.len() {
                        return (Some(true), looked);
                    }
                    retry = Some((place, at));
                    continue;
                }
                (Some(expected), Some(character)) if self.fits(expected, *character) => {
                    (place, at) = (place + 1, at + 1);
                    continue;
                }
                (None, None) => return (Some(true), looked),
                // The text is used up: a later begin only shortens it.
                (Some(_), None) => return (Some(false), looked),
                _ => {}
            }
            let Some((back, from)) = retry else {
                return (Some(false), looked);
            };
            retry = Some((back, from + 1));
            (place, at) = (back, from + 1);
        }
    }

    fn fits(&self, place: &Place, character: char) -> bool {
        match place {
            Place::Any | Place::One => true,
            Place::Literal(literal) if self.ignore_case => literal.eq_ignore_ascii_case(&character),
            Place::Literal(literal) => *literal == character,
            Place::Set { negated, ranges } => {
                ranges
                    .iter()
                    .any(|(from, to)| (*from..=*to).contains(&character))
                    != *negated
            }
        }
    }
}
