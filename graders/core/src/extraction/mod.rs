//! Answer extraction: from a completion to the span that is its answer.
