//! Answers of mathematics as MathML, from the part of LaTeX in which answers are written. Texts in
//! another notation have no formula, and the page shows the text alone.

use crate::display::SafeText;

/// Longest text that is read, in bytes.
const MAX_BYTES: usize = 512;

/// Maximum depth of groups, fractions, roots, scripts and matrices.
const MAX_DEPTH: usize = 16;

/// Adjacent letters from which on a text has words, which would lose their spaces.
const WORD: usize = 3;

/// Commands that stand for a letter or a number.
const LETTERS: &[(&str, &str)] = &[
    ("alpha", "α"),
    ("beta", "β"),
    ("gamma", "γ"),
    ("Gamma", "Γ"),
    ("delta", "δ"),
    ("Delta", "Δ"),
    ("epsilon", "ϵ"),
    ("varepsilon", "ε"),
    ("zeta", "ζ"),
    ("eta", "η"),
    ("theta", "θ"),
    ("Theta", "Θ"),
    ("kappa", "κ"),
    ("lambda", "λ"),
    ("Lambda", "Λ"),
    ("mu", "μ"),
    ("nu", "ν"),
    ("xi", "ξ"),
    ("pi", "π"),
    ("Pi", "Π"),
    ("rho", "ρ"),
    ("sigma", "σ"),
    ("Sigma", "Σ"),
    ("tau", "τ"),
    ("phi", "ϕ"),
    ("varphi", "φ"),
    ("Phi", "Φ"),
    ("chi", "χ"),
    ("psi", "ψ"),
    ("Psi", "Ψ"),
    ("omega", "ω"),
    ("Omega", "Ω"),
    ("infty", "∞"),
    ("emptyset", "∅"),
    ("varnothing", "∅"),
    ("ell", "ℓ"),
];

/// Commands that stand for an operator.
const OPERATORS: &[(&str, &str)] = &[
    ("times", "×"),
    ("cdot", "⋅"),
    ("div", "÷"),
    ("pm", "±"),
    ("mp", "∓"),
    ("le", "≤"),
    ("leq", "≤"),
    ("ge", "≥"),
    ("geq", "≥"),
    ("lt", "<"),
    ("gt", ">"),
    ("ne", "≠"),
    ("neq", "≠"),
    ("approx", "≈"),
    ("equiv", "≡"),
    ("to", "→"),
    ("in", "∈"),
    ("notin", "∉"),
    ("cup", "∪"),
    ("cap", "∩"),
    ("setminus", "∖"),
    ("subset", "⊂"),
    ("subseteq", "⊆"),
    ("land", "∧"),
    ("lor", "∨"),
    ("circ", "∘"),
    ("degree", "°"),
    ("angle", "∠"),
    ("mid", "|"),
    ("vert", "|"),
    ("ldots", "…"),
    ("dots", "…"),
    ("cdots", "⋯"),
    ("sum", "∑"),
    ("prod", "∏"),
    ("int", "∫"),
    ("lbrace", "{"),
    ("rbrace", "}"),
    ("langle", "⟨"),
    ("rangle", "⟩"),
    ("lfloor", "⌊"),
    ("rfloor", "⌋"),
    ("lceil", "⌈"),
    ("rceil", "⌉"),
    ("{", "{"),
    ("}", "}"),
    ("|", "‖"),
    ("%", "%"),
    ("$", "$"),
];

/// Names of functions, as commands or as words.
const FUNCTIONS: &[&str] = &[
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
    "log", "ln", "lg", "exp", "max", "min", "gcd", "lcm", "det", "lim", "deg", "mod",
];

/// Commands that are left out: spaces, and sizes of delimiters.
const IGNORED: &[&str] = &[
    ",",
    ";",
    ":",
    "!",
    " ",
    "quad",
    "qquad",
    "displaystyle",
    "limits",
    "big",
    "Big",
    "bigl",
    "bigr",
    "Bigl",
    "Bigr",
];

/// Commands whose argument is a text.
const TEXTS: &[&str] = &[
    "text",
    "mathrm",
    "mbox",
    "textbf",
    "operatorname",
    "mathbf",
    "mathbb",
];

/// Matrices with their delimiters.
const MATRICES: &[(&str, &str, &str)] = &[
    ("matrix", "", ""),
    ("pmatrix", "(", ")"),
    ("bmatrix", "[", "]"),
    ("Bmatrix", "{", "}"),
    ("vmatrix", "|", "|"),
    ("cases", "{", ""),
];

/// Characters that are operators.
const SIGNS: &str = "+-*/=<>()[]|,;:!%±×÷·⋅≤≥≠≈∞∪∩∈→…°−√";

/// A formula as MathML without attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Formula(String);

impl Formula {
    /// The formula of a text; `None` if it cannot be read, is too long or too deep, or looks the
    /// same as its text.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let text = unwrapped(text.trim());
        if text.len() > MAX_BYTES || !text.contains(['\\', '^', '_']) {
            return None;
        }
        let mut reader = Reader { rest: text };
        let row = reader.row(0)?;
        let is_read = reader.rest.is_empty() && !row.is_empty();
        is_read.then(|| Self(format!("<math><mrow>{row}</mrow></math>")))
    }

    /// The markup, in which all texts are escaped.
    pub(crate) fn markup(&self) -> &str {
        &self.0
    }
}

/// A text without the marks of a formula around it.
fn unwrapped(text: &str) -> &str {
    let marks = [("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")];
    let inner = marks.iter().find_map(|(open, close)| {
        let inner = text.strip_prefix(open)?.strip_suffix(close)?;
        Some(inner.trim())
    });
    inner.unwrap_or(text)
}

/// The text that is not read yet. Methods return markup, or `None` if they cannot read the text.
struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// Items up to the end, a closing brace or the end of a cell, which are not read.
    fn row(&mut self, depth: usize) -> Option<String> {
        let mut row = String::new();
        loop {
            self.rest = self.rest.trim_start();
            let ends = ["}", "&", "\\\\", "\\right", "\\end{"];
            if self.rest.is_empty() || ends.iter().any(|end| self.is_at(end)) {
                return Some(row);
            }
            row += &self.scripted(depth)?;
        }
    }

    /// Whether the rest starts with a mark, and not with a longer command.
    fn is_at(&self, mark: &str) -> bool {
        self.rest.strip_prefix(mark).is_some_and(|after| {
            !mark.ends_with(char::is_alphabetic) || !after.starts_with(char::is_alphabetic)
        })
    }

    fn skip(&mut self, mark: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(mark)?;
        Some(())
    }

    /// An item with its subscript and superscript.
    fn scripted(&mut self, depth: usize) -> Option<String> {
        let base = self.item(depth)?;
        let (mut below, mut above) = (None, None);
        loop {
            self.rest = self.rest.trim_start();
            let script = match self.rest.chars().next() {
                Some('_') if below.is_none() => &mut below,
                Some('^') if above.is_none() => &mut above,
                _ => break,
            };
            self.rest = &self.rest[1..];
            *script = Some(self.argument(depth)?);
        }
        Some(match (below, above) {
            (None, None) => base,
            (Some(below), None) => format!("<msub>{}{below}</msub>", grouped(&base)),
            (None, Some(above)) => format!("<msup>{}{above}</msup>", grouped(&base)),
            (Some(below), Some(above)) => {
                format!("<msubsup>{}{below}{above}</msubsup>", grouped(&base))
            }
        })
    }

    /// An argument of a command or script: a group, or one item. It is one element.
    fn argument(&mut self, depth: usize) -> Option<String> {
        self.rest = self.rest.trim_start();
        // Of several digits without braces, only the first is the argument.
        if let Some(digit) = self.rest.chars().next().filter(char::is_ascii_digit) {
            self.rest = &self.rest[1..];
            return Some(format!("<mn>{digit}</mn>"));
        }
        Some(grouped(&self.item(depth)?))
    }

    fn group(&mut self, depth: usize) -> Option<String> {
        self.skip("{")?;
        let row = self.row(deeper(depth)?)?;
        self.skip("}")?;
        Some(grouped(&row))
    }

    fn item(&mut self, depth: usize) -> Option<String> {
        let first = self.rest.chars().next()?;
        if first == '{' {
            return self.group(depth);
        }
        if first == '\\' {
            return self.command(depth);
        }
        if first.is_ascii_digit() {
            let number = self.take(|character| character.is_ascii_digit() || character == '.');
            return Some(format!("<mn>{number}</mn>"));
        }
        if first.is_alphabetic() {
            let letters = self
                .rest
                .chars()
                .take_while(|letter| letter.is_alphabetic());
            let word: String = letters.take(WORD + MAX_DEPTH).collect();
            if FUNCTIONS.contains(&word.as_str()) {
                self.rest = &self.rest[word.len()..];
                return Some(format!("<mi>{word}</mi>"));
            }
            if word.chars().count() >= WORD {
                return None;
            }
            self.rest = &self.rest[first.len_utf8()..];
            return Some(format!("<mi>{}</mi>", escaped(&first.to_string())));
        }
        if SIGNS.contains(first) {
            self.rest = &self.rest[first.len_utf8()..];
            let sign = if first == '-' { '−' } else { first };
            return Some(operator(&sign.to_string()));
        }
        None
    }

    fn command(&mut self, depth: usize) -> Option<String> {
        self.rest = &self.rest[1..];
        let mut name = self.take(|character| character.is_ascii_alphabetic());
        if name.is_empty() {
            let end = self.rest.chars().next()?.len_utf8();
            (name, self.rest) = self.rest.split_at(end);
        }
        let named = |table: &[(&str, &'static str)]| {
            let mut table = table.iter();
            table
                .find(|(known, _)| *known == name)
                .map(|(_, text)| *text)
        };
        if let Some(letter) = named(LETTERS) {
            return Some(format!("<mi>{letter}</mi>"));
        }
        if let Some(sign) = named(OPERATORS) {
            return Some(operator(sign));
        }
        if FUNCTIONS.contains(&name) {
            return Some(format!("<mi>{name}</mi>"));
        }
        if IGNORED.contains(&name) {
            return Some(String::new());
        }
        if TEXTS.contains(&name) {
            self.skip("{")?;
            let text = self.take(|character| !matches!(character, '{' | '}' | '\\' | '$'));
            self.skip("}")?;
            return Some(format!("<mtext>{}</mtext>", escaped(text)));
        }
        let inner = deeper(depth)?;
        match name {
            "frac" | "dfrac" | "tfrac" | "cfrac" => {
                let (above, below) = (self.argument(inner)?, self.argument(inner)?);
                Some(format!("<mfrac>{above}{below}</mfrac>"))
            }
            "sqrt" => self.root(inner),
            "boxed" => self.argument(inner),
            "left" => self.fenced(inner),
            "begin" => self.matrix(inner),
            _ => None,
        }
    }

    fn root(&mut self, depth: usize) -> Option<String> {
        if self.skip("[").is_none() {
            return Some(format!("<msqrt>{}</msqrt>", self.argument(depth)?));
        }
        let index = self.take(|character| character.is_ascii_alphanumeric());
        self.skip("]")?;
        let radicand = self.argument(depth)?;
        Some(format!("<mroot>{radicand}<mn>{index}</mn></mroot>"))
    }

    fn fenced(&mut self, depth: usize) -> Option<String> {
        let open = self.delimiter()?;
        let row = self.row(depth)?;
        self.skip("\\right")?;
        let close = self.delimiter()?;
        Some(format!("<mrow>{open}{row}{close}</mrow>"))
    }

    fn delimiter(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        if self.skip(".").is_some() {
            return Some(String::new());
        }
        // A delimiter is no group, fraction or matrix.
        let delimiter = self.item(MAX_DEPTH)?;
        delimiter.starts_with("<mo>").then_some(delimiter)
    }

    fn matrix(&mut self, depth: usize) -> Option<String> {
        let name = self.environment()?;
        let mut known = MATRICES.iter();
        let (_, open, close) = known.find(|(known, ..)| *known == name)?;
        let mut rows = String::from("<mtr><mtd>");
        loop {
            rows += &self.row(depth)?;
            if self.skip("&").is_some() {
                rows += "</mtd><mtd>";
            } else if self.skip("\\\\").is_some() {
                rows += "</mtd></mtr><mtr><mtd>";
            } else {
                break;
            }
        }
        self.skip("\\end")?;
        if self.environment()? != name {
            return None;
        }
        let [open, close] = [open, close].map(|sign| match *sign {
            "" => String::new(),
            sign => operator(sign),
        });
        let table = format!("<mtable>{rows}</mtd></mtr></mtable>");
        Some(format!("<mrow>{open}{table}{close}</mrow>"))
    }

    /// The name of an environment in braces.
    fn environment(&mut self) -> Option<&'t str> {
        self.skip("{")?;
        let name = self.take(|character| character.is_ascii_alphabetic());
        self.skip("}")?;
        Some(name)
    }

    /// The next characters that pass.
    fn take(&mut self, passes: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|character| !passes(character));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }
}

fn deeper(depth: usize) -> Option<usize> {
    (depth < MAX_DEPTH).then_some(depth + 1)
}

/// Markup as one element, which scripts and fractions count.
fn grouped(markup: &str) -> String {
    format!("<mrow>{markup}</mrow>")
}

fn operator(sign: &str) -> String {
    format!("<mo>{}</mo>", escaped(sign))
}

fn escaped(text: &str) -> String {
    let text = SafeText(text).to_string();
    text.replace('&', "&#38;")
        .replace('<', "&#60;")
        .replace('>', "&#62;")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    fn markup(text: &str) -> Option<String> {
        let formula = Formula::of(text)?;
        let inner = formula.0.strip_prefix("<math><mrow>")?;
        Some(inner.strip_suffix("</mrow></math>")?.replace("mrow>", "g>"))
    }

    #[test]
    fn reads_the_notations_of_answers() {
        for (text, expected) in [
            (
                "\\frac{3}{8}",
                "<mfrac><g><g><mn>3</mn></g></g><g><g><mn>8</mn></g></g></mfrac>",
            ),
            ("$\\frac12$", "<mfrac><mn>1</mn><mn>2</mn></mfrac>"),
            (
                "x^2_1 < -\\pi",
                "<msubsup><g><mi>x</mi></g><mn>1</mn><mn>2</mn></msubsup>\
                 <mo>&#60;</mo><mo>−</mo><mi>π</mi>",
            ),
            (
                "\\sqrt[3]{2}",
                "<mroot><g><g><mn>2</mn></g></g><mn>3</mn></mroot>",
            ),
            (
                "\\left(0,\\infty\\right]",
                "<g><mo>(</mo><mn>0</mn><mo>,</mo><mi>∞</mi><mo>]</mo></g>",
            ),
            ("5\\text{ a<b}", "<mn>5</mn><mtext> a&#60;b</mtext>"),
            (
                "\\begin{pmatrix}1&2\\\\3&x\\end{pmatrix}",
                "<g><mo>(</mo><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr>\
                 <mtr><mtd><mn>3</mn></mtd><mtd><mi>x</mi></mtd></mtr></mtable><mo>)</mo></g>",
            ),
        ] {
            assert_eq!(markup(text).as_deref(), Some(expected), "{text}");
        }
        assert!(markup("\\sin(2x) + 3\\cdot10^{-2}").is_some());
    }

    #[test]
    fn other_texts_have_no_formula() {
        let long = format!("x^{{{}}}", "1".repeat(MAX_BYTES));
        let deep = format!("{}1{}", "\\sqrt{".repeat(40), "}".repeat(40));
        let texts = [
            "5",
            "3/8",
            "no answer^2",
            "\\unknown{1}",
            "\\frac{1}",
            "x^",
            "}",
            "x_1}",
            "{x_1",
            "",
            "\\",
            "\\left(1",
            "\\begin{pmatrix}1",
            "x^1^2",
            "\\text{\\text{a}}",
            &long,
            &deep,
        ];
        for text in texts {
            assert_eq!(markup(text), None, "{text}");
        }
    }

    const PIECES: &[&str] = &[
        "\\frac",
        "\\sqrt",
        "\\left(",
        "\\right)",
        "\\pi",
        "\\text",
        "\\begin{cases}",
        "\\end{cases}",
        "\\\\",
        "{",
        "}",
        "{",
        "}",
        "1",
        "x",
        "^",
        "_",
        "&",
        "<",
        "[",
        "]",
        " ",
        "\"",
    ];

    proptest! {
        #[test]
        fn markup_is_balanced_and_bounded(pieces in prop::collection::vec(select(PIECES), 0..40)) {
            let text = pieces.concat();
            if let Some(formula) = Formula::of(&text) {
                let markup = formula.markup();
                prop_assert!(markup.len() < 64 * text.len() + 64);
                let mut open = Vec::new();
                for tag in markup.split('<').skip(1) {
                    let (name, _) = tag.split_once('>').unwrap();
                    match name.strip_prefix('/') {
                        Some(name) => prop_assert_eq!(open.pop(), Some(name)),
                        None => open.push(name),
                    }
                    prop_assert!(name.trim_start_matches('/').starts_with('m'));
                }
                prop_assert!(open.is_empty());
            }
        }
    }
}
