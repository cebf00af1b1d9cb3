//! Inputs by the hundred thousand, the same for the same seed: what models write, varied
//! and combined. Half of the kinds start from the golden cases.

use serde::Deserialize;

const CASES: &str = include_str!("../../../../tests/cases/math.jsonl");

/// Maximum length of an input, in bytes; `hand` has longer ones.
const LONGEST: usize = 20_000;

/// A separate generator, so that inputs never change with a dependency. Splitmix64: Steele, Lea
/// and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to `end`, which is left out.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap_or(0)
    }

    /// From 1 up to `end`, small values as likely as large ones by their logarithm.
    fn size(&mut self, end: usize) -> usize {
        let bits = end.max(1).ilog2() as usize + 1;
        let top = 1usize << (self.below(bits) + 1);
        (1 + self.below(top)).min(end)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from.get(self.below(from.len()))
            .copied()
            .unwrap_or_default()
    }

    fn digits(&mut self, count: usize) -> String {
        (0..count)
            .map(|_| char::from(b'0' + u8::try_from(self.below(10)).unwrap_or(0)))
            .collect()
    }
}

#[derive(Deserialize)]
struct Case {
    completion: String,
    task: Task,
}

#[derive(Deserialize)]
struct Task {
    answer: Answer,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    One(String),
    Any(Vec<String>),
}

/// Makes inputs.
pub(crate) struct Generator {
    random: Random,
    golden: Vec<String>,
}

impl Generator {
    /// Starts from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        let mut golden = Vec::new();
        for case in CASES
            .lines()
            .filter_map(|line| serde_json::from_str::<Case>(line).ok())
        {
            match case.task.answer {
                Answer::One(one) => golden.push(one),
                Answer::Any(any) => golden.extend(any),
            }
            let boxed = case
                .completion
                .strip_prefix(r"\boxed{")
                .and_then(|rest| rest.strip_suffix('}'));
            golden.push(boxed.unwrap_or(&case.completion).to_owned());
        }
        Self {
            random: Random(seed),
            golden,
        }
    }

    /// The next input and its kind; the kinds alternate.
    pub(crate) fn input(&mut self, turn: usize) -> (&'static str, String) {
        let (kind, mut text) = match turn % 8 {
            0 => ("formulas", self.formula(6)),
            1 => ("golden, changed", self.changed()),
            2 => ("golden, spliced", self.spliced()),
            3 => ("repeated operators", self.repeated()),
            4 => ("large numbers", self.number()),
            5 => ("towers", self.tower()),
            6 => ("lists", self.list()),
            _ => ("texts", self.words()),
        };
        let mut end = text.len().min(LONGEST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        (kind, text)
    }

    fn leaf(&mut self) -> String {
        match self.random.below(8) {
            0..=2 => self.random.below(40).to_string(),
            3 => format!("{}.{}", self.random.below(100), self.random.below(1_000)),
            4..=5 => self
                .random
                .pick(&["x", "y", "n", "a", "t", r"\theta", "x_1", "i", "k"])
                .to_owned(),
            6 => self
                .random
                .pick(&[
                    r"\pi",
                    "e",
                    r"\sqrt2",
                    r"\frac12",
                    r"\infty",
                    "½",
                    "10^{6}",
                    "30^\\circ",
                ])
                .to_owned(),
            _ => format!(
                r"\frac{{{}}}{{{}}}",
                self.random.below(60),
                1 + self.random.below(60)
            ),
        }
    }

    fn formula(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let depth = depth - 1;
        match self.random.below(22) {
            0..=2 => self.leaf(),
            3..=5 => self.between(
                depth,
                1,
                &["+", "-", r"\cdot ", "/", r"\pm ", "*", r"\times "],
                1,
            ),
            6 => format!(
                r"\frac{{{}}}{{{}}}",
                self.formula(depth),
                self.formula(depth)
            ),
            7 => format!(r"\sqrt{{{}}}", self.formula(depth)),
            8 => format!(
                r"\sqrt[{}]{{{}}}",
                2 + self.random.below(6),
                self.formula(depth)
            ),
            9 => format!("({})^{{{}}}", self.formula(depth), self.random.below(9)),
            10 => format!("({})^{{{}}}", self.formula(depth), self.formula(depth)),
            11..=12 => {
                let names = [
                    r"\sin", r"\cos", r"\tan", r"\ln", r"\arctan", r"\exp", r"\log", r"\arcsin",
                    r"\cosh",
                ];
                format!("{}({})", self.random.pick(&names), self.formula(depth))
            }
            13 => {
                let (open, close) = match self.random.below(4) {
                    0 => ("|", "|"),
                    1 => (r"\lfloor ", r"\rfloor "),
                    2 => (r"\lceil ", r"\rceil "),
                    _ => (r"\left(", r"\right)"),
                };
                format!("{open}{}{close}", self.formula(depth))
            }
            14 => format!("({})!", self.formula(depth.min(1))),
            15 => format!(
                r"\binom{{{}}}{{{}}}",
                self.formula(depth.min(1)),
                self.formula(depth.min(1))
            ),
            16 => format!(
                r"\sum_{{k=1}}^{{{}}}{}",
                self.leaf(),
                self.formula(depth.min(2))
            ),
            17 => self.between(
                depth,
                1,
                &[
                    "=",
                    "<",
                    r"\le ",
                    r"\ne ",
                    r"\text{ or }",
                    r"\text{ and }",
                    r"\in ",
                ],
                2,
            ),
            18 => format!(r"\{{{}\}}", self.between(depth.min(2), 1, &[","], 4)),
            19 => {
                let inside = self.between(depth.min(2), 1, &[","], 2);
                format!(
                    "{}{inside}{}",
                    self.random.pick(&["(", "["]),
                    self.random.pick(&[")", "]"])
                )
            }
            20 => {
                let rows = self.between(depth.min(1), 3, &["&", r"\\"], 6);
                let name = self
                    .random
                    .pick(&["pmatrix", "vmatrix", "cases", "bmatrix", "array"]);
                format!(r"\begin{{{name}}}{rows}\end{{{name}}}")
            }
            _ => format!(
                "{}{}",
                self.formula(depth),
                self.random
                    .pick(&[r"\text{ cm}", r"\%", "^\\circ", "'", " km/h", "!"])
            ),
        }
    }

    /// Formulas with something between them: from `least` gaps up to `more` gaps more.
    fn between(&mut self, depth: usize, least: usize, signs: &[&str], more: usize) -> String {
        let mut text = self.formula(depth);
        for _ in 0..least + self.random.below(more) {
            text.push_str(self.random.pick(signs));
            text.push_str(&self.formula(depth));
        }
        text
    }

    fn golden(&mut self) -> String {
        let at = self.random.below(self.golden.len());
        self.golden.get(at).cloned().unwrap_or_default()
    }

    /// A golden text with up to four changes of characters.
    fn changed(&mut self) -> String {
        let mut text: Vec<char> = self.golden().chars().collect();
        for _ in 0..=self.random.below(4) {
            let from = self.random.below(text.len() + 1);
            let to = (from + self.random.size(12)).min(text.len());
            let part = text.get(from..to).unwrap_or_default().to_vec();
            let new: Vec<char> = match self.random.below(6) {
                0 => Vec::new(),
                1 => part.repeat(2 + self.random.below(30)),
                2 => part.iter().rev().copied().collect(),
                3 => part.into_iter().chain(self.formula(2).chars()).collect(),
                4 => {
                    let places = self.random.size(300);
                    self.random.digits(places).chars().collect()
                }
                _ => {
                    let signs = [
                        "{", "}", "(", ")", "^", "_", r"\frac", r"\sqrt", ",", "=", "<", "|", "!",
                        "-", "e", r"\pm",
                    ];
                    self.random.pick(&signs).chars().chain(part).collect()
                }
            };
            text.splice(from..to, new);
        }
        text.into_iter().collect()
    }

    /// The beginning of one golden text and the end of another.
    fn spliced(&mut self) -> String {
        let first: Vec<char> = self.golden().chars().collect();
        let last: Vec<char> = self.golden().chars().collect();
        let (end, start) = (
            self.random.below(first.len() + 1),
            self.random.below(last.len() + 1),
        );
        first
            .iter()
            .take(end)
            .chain(last.iter().skip(start))
            .collect()
    }

    fn repeated(&mut self) -> String {
        let pieces = [
            "+",
            "-",
            "1+",
            "x+",
            r"\pm",
            r"\pm 1",
            "!",
            "1!",
            "%",
            "°",
            "'",
            "^",
            "x^",
            "2^",
            "_",
            "x_",
            "=",
            "1=",
            "<",
            "x<",
            ",",
            "1,",
            "(",
            ")",
            "{",
            "}",
            "[",
            r"\{",
            "|",
            "|x",
            r"\sqrt",
            r"\sqrt{",
            r"\frac",
            r"\frac1",
            r"\frac{1}{",
            r"\sin ",
            r"\ln",
            r"\text{",
            r"\text{a}",
            r"\begin{pmatrix}",
            r"\\",
            "&",
            r"\cup",
            r"(1,2)\cup",
            r"\not",
            r"\left(",
            r"\boxed{",
            "/",
            "1/",
            ":",
            "1:",
            ";",
            "or ",
            " or 2",
            r"\%!",
            r"\bmod2",
            r"\int ",
            r"\sum_{k=1}^n",
            r"\lim_{x\to0}",
            "⅓",
            "²",
            "√",
            "∪",
            "≤",
            "x",
            "7 ",
            "$",
            "€",
            "0x",
            "C_n^k",
            r"\choose2",
            r"\over2",
            "e^",
            r"\log_2",
        ];
        let mut text = self.leaf();
        for _ in 0..=self.random.below(3) {
            let piece: String = (0..=self.random.below(3))
                .map(|_| self.random.pick(&pieces))
                .collect();
            text.push_str(&piece.repeat(self.random.size(3_000)));
            text.push_str(&self.leaf());
        }
        text
    }

    fn number(&mut self) -> String {
        let (a, b) = (self.random.size(3_000), self.random.size(3_000));
        let (long, other) = (self.random.digits(a), self.random.digits(b));
        let small = 2 + self.random.below(60);
        let size = self.random.size(100_000);
        match self.random.below(16) {
            0 => long,
            1 => format!("{small}.{long}"),
            2 => format!("{long}/{other}"),
            3 => format!(r"\frac{{{long}}}{{{other}}}+\frac{{{other}}}{{{small}}}"),
            4 => format!(r"\sqrt{{{long}}}-\sqrt{{{other}}}"),
            5 => format!(r"\gcd({long},{other})"),
            6 => format!("{small}^{{{size}}}"),
            7 => format!("{small}^{{{size}}}-{}^{{{size}}}", small + 1),
            8 => format!("{size}!/{}!", size.saturating_sub(small)),
            9 => format!(r"\binom{{{size}}}{{{}}}", size / small),
            10 => format!("{small}e{size}+1e-{size}"),
            11 => format!(r"0.{small}\overline{{{long}}}"),
            12 => format!(r"{long}_{{{}}}", 2 + self.random.below(35)),
            13 => format!(r"{long}\bmod {other}"),
            14 => format!(r"\sum_{{k=1}}^{{{size}}}k^{{{small}}}"),
            _ => format!(
                r"{}({size}.{other})",
                self.random.pick(&[
                    r"\sin", r"\ln", r"\exp", r"\arctan", r"\sqrt", r"\cosh", r"\tan"
                ])
            ),
        }
    }

    fn tower(&mut self) -> String {
        let mut text = self.leaf();
        for _ in 0..self.random.size(60) {
            let leaf = self.leaf();
            text = match self.random.below(12) {
                0..=1 => format!("{leaf}^{{{text}}}"),
                2 => format!("({text})^{{{leaf}}}"),
                3 => format!("({text})!"),
                4 => format!(r"\sqrt{{{leaf}+{text}}}"),
                5 => format!(r"\frac{{{leaf}}}{{{text}}}"),
                6 => format!("e^{{{text}}}"),
                7 => format!(r"\ln({text})"),
                8 => format!(r"\sin({text})"),
                9 => format!(r"({text})({leaf}+{text})"),
                10 => format!("|{text}-{leaf}|"),
                _ => format!("{leaf}-{text}"),
            };
            if text.len() > 4_000 {
                break;
            }
        }
        text
    }

    fn list(&mut self) -> String {
        let sign = self.random.pick(&[
            ",",
            ", ",
            ";",
            r"\cup",
            "<",
            r"\le ",
            "=",
            r"\text{ or }",
            " and ",
            "&",
            r"\\",
            "+",
            ":",
        ]);
        let shape = self.random.below(4);
        let count = self.random.size(400);
        let items: Vec<String> = (0..count)
            .map(|k| match shape {
                0 => k.to_string(),
                1 => self.leaf(),
                2 => format!("({},{})", self.leaf(), self.leaf()),
                _ => self.formula(2),
            })
            .collect();
        let inside = items.join(sign);
        match self.random.below(6) {
            0 => format!(r"\{{{inside}\}}"),
            1 => format!("({inside})"),
            2 => format!("[{inside}]"),
            3 => {
                let name = self.random.pick(&["pmatrix", "cases", "vmatrix", "array"]);
                format!(r"\begin{{{name}}}{inside}\end{{{name}}}")
            }
            4 => format!("x={inside}"),
            _ => inside,
        }
    }

    fn words(&mut self) -> String {
        let words = [
            "the",
            "answer",
            "is",
            "about",
            "seven",
            "apples",
            "and",
            "or",
            "not",
            "minus",
            "Monday",
            "km",
            "hours",
            "per",
            "yes",
            "no",
            "x",
            "equals",
            "12",
            "3.5",
            r"$\frac12$",
            "(A)",
            "B.",
            "if",
            "for",
            "all",
            "never",
            "plus",
            "percent",
            "été",
            "答案",
            "therefore",
            r"\text{so}",
            "1,000",
            "“quoted”",
            "-",
            "e.g.",
            "of",
            "sum",
            "sin",
        ];
        let count = self.random.size(2_000);
        let gap = self.random.pick(&[" ", " ", ", ", "\n", "  "]);
        (0..count)
            .map(|_| self.random.pick(&words))
            .collect::<Vec<_>>()
            .join(gap)
    }
}
