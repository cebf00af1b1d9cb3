//! Answers and programs in completions.
//!
//! The first byte has the options; `@` sets none. Bits 1 and 2 are the mode. 4: the text starts
//! inside reasoning; 8: letters are answers; 16: the text is French; 32: the text is repeated, so
//! that work that grows faster than the text takes too long.
//!
//! Properties: reading is deterministic; spans are within the visible text; an answer is never
//! empty.

use assay_code::fuzzing::programs;
use assay_extraction::choice::letter;
use assay_extraction::{Mode, Options, extract, reasoning};

/// Length of a text that is repeated, in bytes.
const REPEATED: usize = 128 << 10;

/// Reads a completion.
pub fn run(bytes: &[u8]) {
    let Some((flags, text)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let options = Options {
        mode: [Mode::Auto, Mode::Boxed, Mode::Whole, Mode::Auto][usize::from(flags & 3)],
        think_open: flags & 4 != 0,
        choices: flags & 8 != 0,
        yes_no: flags & 64 != 0,
        language: (flags & 16 != 0).then_some("fr"),
    };
    check(text, &options);
    if flags & 32 != 0 && !text.is_empty() {
        check(&text.repeat(REPEATED.div_ceil(text.len())), &options);
    }
}

fn check(text: &str, options: &Options<'_>) {
    let parts = reasoning::visible(text, options.think_open);
    assert!(
        parts.iter().all(|part| text
            .get(part.clone())
            .is_some_and(|part| !part.trim().is_empty())),
        "{parts:?}"
    );
    assert!(
        parts.windows(2).all(|pair| pair[0].end <= pair[1].start),
        "{parts:?}"
    );
    let visible = reasoning::visible_text(text, options.think_open);
    assert_eq!(
        visible.len(),
        parts.iter().map(ExactSizeIterator::len).sum::<usize>()
    );
    let found = extract(text, options);
    assert_eq!(found, extract(text, options), "deterministic");
    if let Some(found) = found {
        assert!(!found.text.is_empty());
        assert!(
            text.get(found.span.clone()).is_some(),
            "{:?} is not a part of {text:?}",
            found.span
        );
        let is_visible = parts
            .iter()
            .any(|part| part.start <= found.span.start && found.span.end <= part.end);
        assert!(is_visible, "{:?} is not visible in {text:?}", found.span);
        assert!(letter(&found.text).is_none_or(|letter| letter.is_ascii_uppercase()));
    }
    for (program, span) in programs(&visible) {
        let source = visible
            .get(span.clone())
            .unwrap_or_else(|| panic!("{span:?} is not a part of {visible:?}"));
        assert!(program.len() <= source.len());
    }
}
