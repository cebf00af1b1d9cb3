//! The lexical grammars of languages, and what is changed in their programs.

/// A language.
pub(crate) struct Lexicon {
    /// Start of a comment to the end of the line.
    pub(super) comment: &'static str,
    pub(super) block_comments: bool,
    pub(super) quotes: &'static str,
    /// Whether quotes can be tripled and have prefixes.
    pub(super) triple_quotes: bool,
    /// Whether lines do not end within braces.
    pub(super) braces_nest: bool,
    /// Operators of several characters, those that begin with another one first.
    pub(super) operators: &'static [&'static str],
    /// Binary operators and their replacements.
    pub(super) binary: &'static [(&'static str, &'static str)],
    /// Words and their replacements.
    pub(super) words: &'static [(&'static str, &'static str)],
    pub(super) negation: Negation,
    /// What `return` returns instead; `None` if the type of the value is fixed.
    pub(super) other_return: Option<&'static str>,
    /// A statement that does nothing.
    pub(super) no_statement: &'static str,
    /// Words after which an operator has no left side, and words that begin statements that are not
    /// removed.
    pub(super) keywords: &'static [&'static str],
    /// Words that begin lines in which nothing is changed.
    pub(super) skipped_lines: &'static [&'static str],
}

/// How a condition is negated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Negation {
    /// `not (…)` up to a colon, `else` or the end of the brackets.
    Python,
    /// `!(…)` around the brackets after `if`.
    Brackets,
}

const C_OPERATORS: &[&str] = &[
    "===", "!==", "**=", ">>>", "<<=", ">>=", "...", "?.", "??", "=>", "->", "::", "==", "!=",
    "<=", ">=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "<<", ">>", "**",
];

const COMPARISONS: [(&str, &str); 6] = [
    ("<", "<="),
    ("<=", "<"),
    (">", ">="),
    (">=", ">"),
    ("==", "!="),
    ("!=", "=="),
];

pub(crate) const PYTHON: Lexicon = Lexicon {
    comment: "#",
    block_comments: false,
    quotes: "\"'",
    triple_quotes: true,
    braces_nest: true,
    operators: &[
        "**=", "//=", ">>=", "<<=", "->", ":=", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=",
        "%=", "**", "//", "<<", ">>", "&=", "|=", "^=",
    ],
    binary: &[
        COMPARISONS[0],
        COMPARISONS[1],
        COMPARISONS[2],
        COMPARISONS[3],
        COMPARISONS[4],
        COMPARISONS[5],
        ("+", "-"),
        ("-", "+"),
        ("*", "+"),
        ("/", "*"),
        ("//", "*"),
        ("%", "*"),
        ("**", "*"),
        ("+=", "-="),
        ("-=", "+="),
        ("*=", "+="),
        ("//=", "*="),
        ("/=", "*="),
    ],
    words: &[
        ("and", "or"),
        ("or", "and"),
        ("True", "False"),
        ("False", "True"),
        ("min", "max"),
        ("max", "min"),
        ("any", "all"),
        ("all", "any"),
        ("break", "continue"),
    ],
    negation: Negation::Python,
    other_return: Some("None"),
    no_statement: "pass",
    keywords: &[
        "return", "and", "or", "not", "in", "is", "if", "elif", "else", "while", "for", "lambda",
        "yield", "assert", "raise", "print", "del", "def", "class", "with", "from", "import",
        "global", "nonlocal",
    ],
    skipped_lines: &["import", "from", "def", "class", "@", "assert"],
};

pub(crate) const JAVASCRIPT: Lexicon = Lexicon {
    comment: "//",
    block_comments: true,
    quotes: "\"'`",
    triple_quotes: false,
    braces_nest: false,
    operators: C_OPERATORS,
    binary: &[
        COMPARISONS[0],
        COMPARISONS[1],
        COMPARISONS[2],
        COMPARISONS[3],
        COMPARISONS[4],
        COMPARISONS[5],
        ("===", "!=="),
        ("!==", "==="),
        ("&&", "||"),
        ("||", "&&"),
        ("+", "-"),
        ("-", "+"),
        ("*", "+"),
        ("/", "*"),
        ("%", "*"),
        ("+=", "-="),
        ("-=", "+="),
        ("*=", "+="),
    ],
    words: &[
        ("true", "false"),
        ("false", "true"),
        ("min", "max"),
        ("max", "min"),
        ("some", "every"),
        ("every", "some"),
    ],
    negation: Negation::Brackets,
    other_return: Some("null"),
    no_statement: ";",
    keywords: &[
        "return", "typeof", "in", "of", "new", "delete", "if", "else", "for", "while", "function",
        "const", "let", "var", "case", "throw", "yield", "await", "class",
    ],
    skipped_lines: &["import", "export", "const", "interface", "type"],
};

/// C and C++.
pub(crate) const CPP: Lexicon = Lexicon {
    quotes: "\"'",
    other_return: None,
    // `<` and `>` also enclose the arguments of templates, and `*` and `&` declare pointers: a
    // change there does not compile, and counts as detected.
    binary: &[
        COMPARISONS[0],
        COMPARISONS[1],
        COMPARISONS[2],
        COMPARISONS[3],
        COMPARISONS[4],
        COMPARISONS[5],
        ("&&", "||"),
        ("||", "&&"),
        ("+", "-"),
        ("-", "+"),
        ("*", "+"),
        ("/", "*"),
        ("%", "*"),
        ("+=", "-="),
        ("-=", "+="),
        ("*=", "+="),
    ],
    words: &[
        ("true", "false"),
        ("false", "true"),
        ("min", "max"),
        ("max", "min"),
    ],
    keywords: &[
        "return", "sizeof", "new", "delete", "if", "else", "for", "while", "case", "throw", "auto",
        "int", "long", "char", "bool", "double", "float", "void", "unsigned", "const", "template",
        "typename", "class", "struct", "vector", "using", "cout", "cin",
    ],
    skipped_lines: &["#", "using", "template", "typedef", "struct", "class"],
    ..JAVASCRIPT
};
