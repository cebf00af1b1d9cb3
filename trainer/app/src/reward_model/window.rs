//! The newest pairs, bounded in number and in memory.

use std::collections::VecDeque;

use super::pairs::PreferencePair;

/// Maximum size of all pairs in bytes.
const MAX_BYTES: usize = 512 << 20;

/// The newest pairs, oldest first.
#[derive(Debug)]
pub(super) struct Window {
    pairs: VecDeque<(usize, PreferencePair)>,
    bytes: usize,
    max_pairs: usize,
}

impl Window {
    /// A window of at most `max_pairs` pairs.
    pub(super) fn new(max_pairs: usize) -> Self {
        Self {
            pairs: VecDeque::new(),
            bytes: 0,
            max_pairs: max_pairs.max(1),
        }
    }

    /// Adds a pair and drops the oldest ones that no longer fit. The newest pair is always kept.
    pub(super) fn push(&mut self, pair: PreferencePair) {
        let texts = [&pair.prompt, &pair.accepted, &pair.rejected].map(|text| text.to_body().len());
        let bytes = texts.iter().sum::<usize>() + pair.reference.as_ref().map_or(0, String::len);
        self.bytes += bytes;
        self.pairs.push_back((bytes, pair));
        while self.pairs.len() > 1 && (self.pairs.len() > self.max_pairs || self.bytes > MAX_BYTES)
        {
            if let Some((dropped, _)) = self.pairs.pop_front() {
                self.bytes -= dropped;
            }
        }
    }

    /// The pairs, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &PreferencePair> {
        self.pairs.iter().map(|(_, pair)| pair)
    }
}

#[cfg(test)]
mod tests {
    use assay_core::Completion;

    use super::*;

    #[test]
    fn keeps_the_newest_pairs() {
        let text = |text: String| Completion::Text(text.into());
        let mut window = Window::new(3);
        for index in 0..5 {
            window.push(PreferencePair {
                prompt: text(format!("{index}")),
                accepted: text("right".to_owned()),
                rejected: text("wrong".to_owned()),
                reference: None,
                certainties: [1.0, 1.0],
            });
        }
        let prompts: Vec<_> = window
            .iter()
            .map(|pair| pair.prompt.text().to_string())
            .collect();
        assert_eq!(prompts, ["2", "3", "4"]);
        assert_eq!((window.pairs.len(), window.bytes), (3, 33));
    }
}
