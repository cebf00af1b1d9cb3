//! Words and phrases whose role does not depend on the language of the text: what changes the
//! meaning of a statement or a value, units, retractions. Contains no logic. The words that differ
//! by language are in [`languages`](super::languages).

pub(super) mod beliefs;
pub(super) mod judgements;
pub(super) mod predicates;
pub(super) mod qualifying;
pub(super) mod retractions;

/// Words before the name of an answer that change the meaning of the statement: "if the answer is
/// 5", "to answer is …".
pub(super) const UNDERMINES: &[&str] = &[
    "if", "suppose", "assume", "assuming", "whether", "to", "si", "wenn", "falls", "如果", "假设",
];

/// Words that an answer in words may not start with, because they announce an answer: "as follows".
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

/// Words whose number is a label and not a value: "step 3".
pub(super) const NUMBERED: &[&str] = &[
    "step", "steps", "part", "case", "question", "problem", "example", "figure", "equation",
    "exercise", "eq", "method", "étape", "schritt", "paso", "passo", "第", "步骤", "方程",
];

/// First words of units of more than one word: "square metres", "million dollars". Words for powers
/// of ten have the same role.
pub(super) const UNIT_PREFIXES: &[&str] = &[
    "square", "cubic", "sq", "cu", "us", "hundred", "light", "fluid", "bn", "bin",
];

/// Units as words or symbols. Other words after a number name what it counts and are not part of
/// the value.
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

/// Names of functions and constants. They may follow a number without being adjacent to it: "2
/// sqrt(3)".
pub(super) const FUNCTIONS: &[&str] = &[
    "sqrt", "cbrt", "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh",
    "cosh", "tanh", "log", "ln", "lg", "exp", "abs", "gcd", "lcm", "max", "min", "mod", "pi",
    "theta", "infinity", "inf", "infty", "floor", "ceil", "det", "binom",
];

/// Words that weaken a joiner without changing it: "or perhaps", "or it could be".
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

/// Words that offer an alternative after a comma, without a conjunction: "41, *maybe* 42".
pub(super) const GUESSES: &[&str] = &[
    "maybe",
    "possibly",
    "perhaps",
    "vielleicht",
    "quizás",
    "也许",
];

/// Words that start a clause about a value that was already stated: "there are 12, *because* 3
/// times 4 is 12".
pub(super) const SUBORDINATES: &[&str] = &[
    "because",
    "since",
    "whereas",
    "weil",
    "denn",
    "car",
    "porque",
    "puisque",
    "omdat",
    "ponieważ",
    "çünkü",
    "karena",
    "vì",
    "क्योंकि",
];

/// Words before a value that negate it.
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

/// Phrases before the only answer: "*none other than* 7".
pub(super) const ONLY: &[&str] = &[
    "none other than",
    "nothing but",
    "nothing other than",
    "nothing else than",
];

/// Phrases between a calculation in words and its value: "half of 84, *that is*, 42".
pub(super) const RESULTS: &[&str] = &[
    "i.e.",
    "that is",
    "which is",
    "which equals",
    "so",
    "so it is",
    "namely",
    "hence",
    "thus",
    "giving",
    "c'est-à-dire",
    "also",
    "das heißt",
    "es decir",
    "ou seja",
    "cioè",
];

/// Phrases before a further answer: "42 *as well as* 43".
pub(super) const ADDS: &[&str] = &["as well as", "along with", "together with", "and also"];

/// Words that make the rest of their clause hypothetical: "*if* it is 7".
pub(super) const SUPPOSITIONS: &[&str] = &[
    "if", "suppose", "assume", "assuming", "whether", "unless", "wenn", "falls", "如果", "假设",
    "假如", "若",
];

/// Words that start the consequence of a hypothesis, which is not hypothetical itself.
pub(super) const CONSEQUENTS: &[&str] = &["then", "dann", "alors", "entonces"];

/// Particles between a value and its denial: "42*가* 아니다".
pub(super) const PARTICLES: &[&str] = &["가", "이", "은", "는", "が", "は", "olduğunu"];

/// Verbs of a possibility: "it *could* also be 4".
pub(super) const MODALS: &[&str] = &[
    "could", "might", "may", "can", "könnte", "pourrait", "podría",
];

/// Replies that confirm what was asked: "Is it 42? *Yes*."
pub(super) const AFFIRMS: &[&str] = &[
    "yes",
    "yep",
    "yeah",
    "indeed",
    "correct",
    "exactly",
    "right",
    "oui",
    "ja",
    "sí",
    "sim",
    "sì",
    "да",
    "是",
    "是的",
    "对",
    "evet",
    "tak",
    "có",
    "ya",
    "हाँ",
    "نعم",
];

/// Replies that deny what was asked: "Is it 42? *No*."
pub(super) const DENIES: &[&str] = &[
    "no",
    "nope",
    "non",
    "nein",
    "não",
    "нет",
    "nee",
    "nej",
    "hayır",
    "nie",
    "không",
    "tidak",
    "bukan",
    "नहीं",
    "لا",
    "不是",
    "不",
];

/// Words of a question that asks whether a value is the answer: "*what about* 42?".
pub(super) const ASKS: &[&str] = &["what", "about", "how", "then", "perhaps", "maybe", "there"];

/// Words that offer the answer of the opposite case: "42, *otherwise* 36".
pub(super) const OTHERWISE: &[&str] = &[
    "otherwise",
    "alternatively",
    "sonst",
    "andernfalls",
    "sinon",
    "alternativement",
    "alternativamente",
    "altrimenti",
    "иначе",
    "anders",
    "否则",
];

/// Words before another spelling of the same value: "1/2 or, *equivalently*, 0.5".
pub(super) const RESTATES: &[&str] = &[
    "equivalently",
    "i.e.",
    "simply",
    "approximately",
    "about",
    "roughly",
    "form",
    "words",
    "simplified",
    "written",
    "decimal",
];

/// Headings of a check of the answer: "*Check*: 2 * 5 = 10".
pub(super) const CHECKS: &[&str] = &[
    "check",
    "checking",
    "verification",
    "verify",
    "verifying",
    "sanity check",
    "检验",
    "验证",
    "验算",
    "probe",
    "vérification",
    "comprobación",
    "verificação",
    "verifica",
    "проверка",
];

/// Verbs between a statement and its place: "f(x) = 3 *holds* when x = 4" asks for x.
pub(super) const HOLDS: &[&str] = &["holds", "hold", "occurs", "happens", "vanishes", "works"];

/// Answers to a question that is yes or no.
pub(super) const YES_NO: &[&str] = &[
    "yes", "no", "true", "false", "oui", "non", "ja", "nein", "sí", "да", "нет", "是", "否", "对",
];
