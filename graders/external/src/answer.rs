//! What a judge answered about one item, and what it cost.

use crate::reply::Judgement;

/// Maximum length of a reply that is kept, in characters: the length of a text of evidence.
const MAX_KEPT: usize = assay_core::evidence::MAX_TEXT + 1;

/// The use of a judge for one item.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Usage {
    pub(crate) calls: u32,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) cost: f64,
}

impl Usage {
    pub(crate) fn tokens(self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost += other.cost;
    }
}

/// The answer of a judge.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) judgement: Judgement,
    /// The reply, shortened to what evidence can contain.
    pub(crate) reply: String,
    /// The model as the server names it.
    pub(crate) model: Option<String>,
    /// What this item used: nothing if the answer was cached.
    pub(crate) usage: Usage,
    /// The answer was given before, to the same request of the same caller.
    pub(crate) cached: bool,
}

impl Answer {
    pub(crate) fn new(
        judgement: Judgement,
        reply: &str,
        model: Option<String>,
        usage: Usage,
    ) -> Self {
        let end = reply
            .char_indices()
            .nth(MAX_KEPT)
            .map_or(reply.len(), |(end, _)| end);
        Self {
            judgement,
            reply: reply[..end].to_owned(),
            model,
            usage,
            cached: false,
        }
    }

    /// A judgement for which the judge was not asked.
    pub(crate) fn unasked(judgement: Judgement) -> Self {
        Self::new(judgement, "", None, Usage::default())
    }

    /// The same answer for another item.
    pub(crate) fn again(self) -> Self {
        Self {
            usage: Usage::default(),
            cached: true,
            ..self
        }
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        let judgement = match &self.judgement {
            Judgement::Label(label) => label.len(),
            Judgement::Criteria(met) => met.len(),
            Judgement::Proof { rejected } => rejected.as_ref().map_or(0, String::len),
            Judgement::Score(_) | Judgement::Preferred(_) => 0,
        };
        judgement + self.reply.len() + self.model.as_ref().map_or(0, String::len)
    }
}
