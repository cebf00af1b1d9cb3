//! Detects prompts that are already rendered with a chat template. Rendering them again would hide
//! them in a user message, which changes every score without an error.

/// Tokens before the first turn.
const BEGINNINGS: &[&str] = &[
    "<s>",
    "<bos>",
    "<BOS_TOKEN>",
    "<|begin_of_text|>",
    "<｜begin▁of▁sentence｜>",
    "[gMASK]<sop>",
];

/// Tokens with which turns begin in common chat templates.
const TURNS: &[&str] = &[
    "<|im_start|>",
    "<|start_header_id|>",
    "<|header_start|>",
    "<start_of_turn>",
    "<|start_of_role|>",
    "<|START_OF_TURN_TOKEN|>",
    "<|start|>",
    "<|system|>",
    "<|user|>",
    "<｜User｜>",
    "[INST]",
    "[SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
];

/// The token of a chat template with which a prompt begins.
pub(super) fn first_turn(prompt: &str) -> Option<&'static str> {
    let prompt = prompt.trim_start();
    let prompt = BEGINNINGS
        .iter()
        .find_map(|beginning| prompt.strip_prefix(beginning))
        .unwrap_or(prompt)
        .trim_start();
    TURNS.iter().copied().find(|turn| prompt.starts_with(turn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_turn_of_rendered_prompts() {
        for (prompt, turn) in [
            ("<|im_start|>user\nhi<|im_end|>\n", "<|im_start|>"),
            (
                "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nhi",
                "<|start_header_id|>",
            ),
            ("<s> [INST] hi [/INST]", "[INST]"),
            ("\n<bos><start_of_turn>user\nhi", "<start_of_turn>"),
        ] {
            assert_eq!(first_turn(prompt), Some(turn), "{prompt}");
        }
    }

    #[test]
    fn texts_that_mention_tokens_are_not_rendered() {
        for prompt in [
            "",
            "What does `<|im_start|>` mean?",
            "<s>struck</s> out",
            "<|endoftext|>",
            "INST",
        ] {
            assert_eq!(first_turn(prompt), None, "{prompt}");
        }
    }
}
