//! Words and phrases that play one part whatever their language: what undermines a statement, what
//! qualifies a value, units. Scans nothing and decides nothing; [`languages`](super::languages)
//! holds the words that differ by language.

/// Words before the name of an answer that make the statement say something else: "if the answer is
/// 5", "to answer is …".
pub(super) const UNDERMINES: &[&str] = &[
    "if",
    "suppose",
    "assume",
    "assuming",
    "whether",
    "wrong",
    "incorrect",
    "to",
    "si",
    "wenn",
    "falls",
    "如果",
    "假设",
];

/// Words a clause may not start with if it is to be an answer in words: they announce one.
pub(super) const ANNOUNCES: &[&str] = &[
    "let",
    "we",
    "the following",
    "as",
    "below",
    "found",
    "obtained",
    "shown",
    "what",
    "that",
    "this",
    "in",
    "here",
    "it",
    "first",
    "step",
    "to",
    "because",
    "not",
    "based",
    "correct",
    "wrong",
    "incorrect",
    "right",
    "unknown",
    "unclear",
];

/// Words whose number counts and names, and does not answer: "step 3".
pub(super) const NUMBERED: &[&str] = &[
    "step", "steps", "part", "case", "question", "problem", "example", "figure", "equation",
    "exercise", "eq", "method", "étape", "schritt", "paso", "passo", "第", "步骤", "方程",
];

/// First words of units of more than one word: "square metres", "million dollars".
pub(super) const UNIT_PREFIXES: &[&str] = &[
    "square", "cubic", "sq", "cu", "us", "hundred", "thousand", "million", "billion", "trillion",
    "light", "fluid",
];

/// Units as words or signs. Other words after a number count things, and are left off its value.
pub(super) const UNITS: &[&str] = &[
    "m", "cm", "mm", "km", "nm", "dm", "ft", "foot", "feet", "inch", "inches", "yd", "yard",
    "yards", "mile", "miles", "mi", "g", "kg", "mg", "lb", "lbs", "pound", "pounds", "oz", "ounce",
    "ounces", "ton", "tons", "tonne", "tonnes", "s", "sec", "secs", "second", "seconds", "ms",
    "min", "mins", "minute", "minutes", "h", "hr", "hrs", "hour", "hours", "day", "days", "week",
    "weeks", "month", "months", "year", "years", "degree", "degrees", "deg", "rad", "radian",
    "radians", "percent", "dollar", "dollars", "cent", "cents", "euro", "euros", "yen", "yuan",
    "rupee", "rupees", "usd", "eur", "gbp", "l", "ml", "gallon", "gallons", "quart", "quarts",
    "pint", "pints", "newton", "newtons", "n", "joule", "joules", "j", "kj", "watt", "watts", "w",
    "kw", "volt", "volts", "v", "amp", "amps", "ohm", "ohms", "pascal", "pascals", "pa", "kpa",
    "hertz", "hz", "khz", "mhz", "kelvin", "k", "c", "f", "mol", "mole", "moles", "mph", "kmh",
    "kph", "unit", "units", "acre", "acres", "hectare", "hectares", "ha", "kwh", "ev", "atm",
    "bar", "am", "a.m.", "p.m.", "pm", "pourcent", "prozent", "jours", "heures", "stunden", "tage",
    "horas", "días", "grad", "degrés", "grados",
];

/// Endings of units with a prefix: "kilometres".
pub(super) const UNIT_ENDINGS: &[&str] = &[
    "meter", "meters", "metre", "metres", "gram", "grams", "liter", "liters", "litre", "litres",
    "mètres", "metros", "gramos", "grammes", "seconds", "watts",
];

/// Words that count something and may follow a number without being glued to it.
pub(super) const FUNCTIONS: &[&str] = &[
    "sqrt", "cbrt", "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh",
    "cosh", "tanh", "log", "ln", "lg", "exp", "abs", "gcd", "lcm", "max", "min", "mod", "pi",
    "theta", "infinity", "inf", "infty", "floor", "ceil", "det", "binom",
];

/// Words that soften a joiner and change nothing: "or perhaps", "or it could be".
pub(super) const HEDGES: &[&str] = &[
    "maybe",
    "possibly",
    "perhaps",
    "even",
    "also",
    "either",
    "else",
    "it",
    "could",
    "might",
    "may",
    "be",
    "peut-être",
    "vielleicht",
    "quizás",
    "也许",
    "可能",
];

/// Words that offer another answer after a comma, without a joiner: "41, *maybe* 42".
pub(super) const GUESSES: &[&str] = &[
    "maybe",
    "possibly",
    "perhaps",
    "vielleicht",
    "quizás",
    "也许",
];

/// Words that open a clause about a value already named: "there are 12, *because* 3 times 4 is 12".
pub(super) const SUBORDINATES: &[&str] = &[
    "because", "since", "whereas", "weil", "denn", "car", "porque", "puisque",
];

/// Words before a value that turn its sign.
pub(super) const SIGNS: &[&str] = &[
    "minus",
    "negative",
    "moins",
    "menos",
    "meno",
    "минус",
    "负",
    "負",
];

/// Phrases right before a value that make it a bound, an exception or part of a sum: "*less than*
/// 7". Blanks part words, and a phrase stands before those it ends with.
pub(super) const QUALIFIES_BEFORE: &[&str] = &[
    "less than",
    "fewer than",
    "more than",
    "greater than",
    "larger than",
    "smaller than",
    "than",
    "at least",
    "at most",
    "up to",
    "above",
    "below",
    "under",
    "over",
    "beyond",
    "exceeds",
    "exceeding",
    "between",
    "within",
    "except",
    "excluding",
    "besides",
    "without",
    "anything but",
    "everything but",
    "nothing but",
    "all but",
    "any but",
    "half",
    "half of",
    "twice",
    "double",
    "triple",
    "thrice",
    "minus",
    "plus",
    "times",
    "entre",
    "zwischen",
    "sauf",
    "außer",
    "als",
    "mindestens",
    "höchstens",
    "au moins",
    "au plus",
    "plus de",
    "moins de",
    "al menos",
    "más de",
    "menos de",
    "小于",
    "大于",
    "少于",
    "多于",
    "至少",
    "至多",
    "最多",
    "超过",
    "除了",
];

/// Words right after a value that calculate with it or open a range where another value follows: "7
/// *times* 8".
pub(super) const QUALIFIES_BEFORE_VALUE: &[&str] = &[
    "to", "times", "plus", "minus", "over", "through", "till", "until", "modulo", "mod", "bis",
    "mal", "fois", "至", "到",
];

/// Words after the second value of such a range that make it a precision: "3.14 to 2 *decimal*
/// places".
pub(super) const PRECISIONS: &[&str] = &[
    "decimal",
    "decimals",
    "significant",
    "sig",
    "dp",
    "d.p",
    "sf",
    "places",
    "digits",
    "figures",
];

/// Phrases right after a value that make something else of it by themselves: "7 *squared*", "7 *or
/// more*".
pub(super) const QUALIFIES_AFTER: &[&str] = &[
    "squared",
    "cubed",
    "factorial",
    "divided",
    "multiplied",
    "raised",
    "dozen",
    "halves",
    "thirds",
    "to the power",
    "or more",
    "or less",
    "or fewer",
    "or greater",
    "or higher",
    "or lower",
    "or above",
    "or below",
    "and above",
    "and below",
    "and up",
    "at most",
    "at least",
];

/// Phrases that do so where another value follows them: "7 *less than* 10", but not "7 *less than*
/// her sister".
pub(super) const COMPARES_AFTER: &[&str] =
    &["more than", "less than", "fewer than", "greater than"];

/// Words that only suppose what follows them in their clause: "*if* it is 7".
pub(super) const SUPPOSES: &[&str] = &[
    "if", "suppose", "assume", "assuming", "whether", "unless", "wenn", "falls", "如果", "假设",
    "假如", "若",
];

/// Words that open what follows from a supposition, and suppose nothing.
pub(super) const CONSEQUENTS: &[&str] = &["then", "dann", "alors", "entonces"];

/// Words that interrupt, and open a sentence that may take back what was said: "*wait*, that is
/// wrong".
pub(super) const INTERJECTIONS: &[&str] = &[
    "no",
    "nope",
    "wait",
    "actually",
    "sorry",
    "correction",
    "oops",
    "hmm",
    "scratch",
    "rather",
    "non",
    "nein",
    "不",
    "不对",
    "等等",
    "更正",
];

/// Words that may stand before an interjection: "*but* wait".
pub(super) const OPENERS: &[&str] = &["but", "oh", "and", "well", "ah"];

/// Subjects by which a sentence speaks of what was just said.
pub(super) const DEMONSTRATIVES: &[&str] = &[
    "that", "that's", "this", "it", "it's", "c'est", "cela", "das", "eso", "esto", "isso", "questo",
];

/// What is said of an answer that is taken back.
pub(super) const FAULTS: &[&str] = &[
    "wrong",
    "incorrect",
    "mistake",
    "mistaken",
    "error",
    "faux",
    "fausse",
    "erreur",
    "falsch",
    "fehler",
    "incorrecto",
    "incorrecta",
    "errado",
    "sbagliato",
];

/// Slips that take an answer back where an interjection says so: "wait, I *forgot* one".
pub(super) const SLIPS: &[&str] = &[
    "forgot",
    "miscounted",
    "miscalculated",
    "misread",
    "overlooked",
    "missed",
    "miswrote",
];

/// What is denied of an answer that is taken back: "that is not *right*".
pub(super) const RIGHTS: &[&str] = &[
    "right", "correct", "true", "possible", "juste", "exact", "richtig", "correcto", "correcta",
];

/// Openings that take back what was said by themselves.
pub(super) const TAKEN_BACK: &[&str] = &["scratch that", "strike that", "不对", "错了"];
