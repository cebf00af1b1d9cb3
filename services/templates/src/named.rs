//! Templates of common datasets, one file each under `named/`.

macro_rules! named {
    ($($name:literal),* $(,)?) => {
        /// The names of all built-in templates.
        pub const NAMES: &[&str] = &[$($name),*];

        const SOURCES: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../named/", $name, ".json")))),*
        ];
    };
}

named!(
    "acecode",
    "aime",
    "apps",
    "bfcl",
    "big-math",
    "bird",
    "cgpo",
    "codecontests",
    "dapo-17k",
    "deepscaler",
    "eurus-2",
    "flashrag",
    "gpqa",
    "gsm8k",
    "healthbench",
    "humaneval",
    "if-multi-constraints",
    "ifbench",
    "ifeval",
    "kodcode",
    "leetcode",
    "livecodebench",
    "math",
    "math-500",
    "mbpp",
    "mbpp-sanitized",
    "mmlu",
    "mmlu-pro",
    "mpo",
    "nemo-gym",
    "numinamath-1.5",
    "openr1-math",
    "pairwise-rl",
    "prs",
    "r1-reward",
    "reasoning-gym",
    "red-team",
    "rubric-anchors",
    "ruscarl",
    "search-r1",
    "speechjudge-grm",
    "spider",
    "sql-create-context",
    "squad",
    "swe",
    "synthetic-1",
    "synthetic-2",
    "taco",
    "toolace",
    "topiocqa",
    "verifiable-coding",
    "verl-math",
    "xlam",
);

/// The JSON of the built-in template with this name.
#[must_use]
pub fn source(name: &str) -> Option<&'static str> {
    SOURCES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, source)| *source)
}
