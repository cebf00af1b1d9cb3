//! Words and phrases whose role does not depend on the language of the text: what changes the
//! meaning of a statement or a value, units, retractions. Contains no logic. The words that differ
//! by language are in [`languages`](super::languages).

pub(super) mod retractions;
pub(super) mod verdicts;

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
    "because", "since", "whereas", "weil", "denn", "car", "porque", "puisque",
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

/// Phrases directly before a value that make it a bound, an exception or part of a sum: "*less
/// than* 7". A longer phrase precedes the phrases that it ends with, because the first match is
/// used.
pub(super) const QUALIFIES_BEFORE: &[&str] = &[
    "less than",
    "fewer than",
    "more than",
    "greater than",
    "larger than",
    "smaller than",
    "other than",
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
    "exceed",
    "surpass",
    "surpasses",
    "much as",
    "many as",
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
    "close to",
    "near",
    "nearly",
    "almost",
    "not far from",
    "short of",
    "shy of",
    "at the least",
    "at the most",
    "at minimum",
    "at maximum",
    "bounded by",
    "somewhere around",
    "somewhere about",
    "something like",
    "something around",
    "neighbourhood of",
    "neighborhood of",
    "vicinity of",
    "root of",
    "square of",
    "cube of",
    "third of",
    "quarter of",
    "fourth of",
    "fifth of",
    "tenth of",
    "reciprocal of",
    "inverse of",
    "negative of",
    "opposite of",
    "factorial of",
    "logarithm of",
    "sine of",
    "cosine of",
    "tangent of",
    "multiple of",
    "divisor of",
    "divisors of",
    "factor of",
    "factors of",
    "divisible by",
    "remainder of",
    "remainder when",
    "digits of",
    "sum of",
    "product of",
    "difference of",
    "average of",
    "mean of",
    "median of",
    "successor of",
    "predecessor of",
    "entre",
    "zwischen",
    "presque",
    "supérieur à",
    "supérieure à",
    "inférieur à",
    "inférieure à",
    "carrée de",
    "double de",
    "moitié de",
    "tiers de",
    "proche de",
    "fast",
    "beinahe",
    "wurzel aus",
    "wurzel von",
    "hälfte von",
    "doppelte von",
    "casi",
    "mayor que",
    "menor que",
    "mayor a",
    "menor a",
    "cuadrada de",
    "doble de",
    "mitad de",
    "quase",
    "maior que",
    "maior do que",
    "menor do que",
    "quadrada de",
    "dobro de",
    "metade de",
    "quasi",
    "maggiore di",
    "minore di",
    "superiore a",
    "inferiore a",
    "quadrata di",
    "doppio di",
    "metà di",
    "почти",
    "больше",
    "меньше",
    "корень из",
    "половина",
    "половину",
    "أكبر من",
    "أقل من",
    "أصغر من",
    "接近",
    "几乎是",
    "几乎",
    "将近",
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

/// Phrases directly before a value that exclude it: "18 *instead of* 24".
pub(super) const EXCLUDES: &[&str] = &[
    "rather than",
    "instead of",
    "opposed to",
    "plutôt que",
    "au lieu de",
    "statt",
    "anstelle von",
    "en lugar de",
    "en vez de",
    "em vez de",
    "invece di",
    "вместо",
    "in plaats van",
    "zamiast",
    "invece che",
    "anziché",
    "stället för",
    "far from",
    "different from",
    "differs from",
    "distinct from",
    "unequal to",
    "nowhere near",
    "hardly",
    "scarcely",
    "fails to",
    "loin de",
    "différent de",
    "différente de",
    "n'est plus",
    "non è più",
    "keineswegs",
    "nicht mehr",
    "verschieden von",
    "lejos de",
    "distinto de",
    "longe de",
    "lontano da",
    "diverso da",
];

/// Phrases directly before a value that except it, which a negation before them turns into the
/// value itself: "no answer *other than* 7", "cannot be *anything but* 7".
pub(super) const EXCEPTS: &[&str] = &[
    "anything but",
    "any number but",
    "any value but",
    "nothing but",
    "other than",
    "else than",
    "other answer than",
    "other solution than",
    "other value than",
    "other number than",
    "other possibility than",
    "except",
    "besides",
    "autre que",
    "sauf",
    "rien que",
];

/// Words directly after a value that, if another value follows, calculate with it or start a range:
/// "7 *times* 8".
pub(super) const QUALIFIES_BEFORE_VALUE: &[&str] = &[
    "to", "times", "plus", "minus", "over", "through", "till", "until", "modulo", "mod", "bis",
    "mal", "fois", "至", "到",
];

/// Words after the second value that make it a precision: "3.14 to 2 *decimal* places".
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

/// Phrases directly after a value that change its meaning: "7 *squared*", "7 *or more*".
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
    "doubled",
    "halved",
    "tripled",
    "times as",
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

/// Phrases directly after a value that leave it open: "42 *or so*", "42, *give or take*".
pub(super) const DOUBTS_AFTER: &[&str] = &[
    "or so",
    "or thereabouts",
    "or something",
    "or whatever",
    "give or take",
    "plus or minus",
    "unless",
    "से अधिक",
    "से कम",
    "से ज़्यादा",
];

/// In scripts without blanks between words: the start of what makes the value before it a bound.
pub(super) const WIDE_BOUNDS_AFTER: &[&str] = &[
    "より大",
    "より小",
    "より多",
    "より少",
    "より上",
    "より下",
    "未満",
    "以上",
    "以下",
    "を超え",
    "보다",
    "이상",
    "이하",
    "미만",
    "초과",
];

/// Words after a phrase that leaves a value open which make it a remark about the writer: "unless
/// *I* made an error".
pub(super) const ABOUT_WRITER: &[&str] = &["i", "we", "i'm", "i've", "otherwise"];

/// Phrases that change the meaning of the value before them if another value follows: "7 *less
/// than* 10", but not "7 *less than* her sister".
pub(super) const COMPARES_AFTER: &[&str] =
    &["more than", "less than", "fewer than", "greater than"];

/// Words that make the rest of their clause hypothetical: "*if* it is 7".
pub(super) const SUPPOSITIONS: &[&str] = &[
    "if", "suppose", "assume", "assuming", "whether", "unless", "wenn", "falls", "如果", "假设",
    "假如", "若",
];

/// Words that start the consequence of a hypothesis, which is not hypothetical itself.
pub(super) const CONSEQUENTS: &[&str] = &["then", "dann", "alors", "entonces"];

/// Particles between a value and its denial: "42*가* 아니다".
pub(super) const PARTICLES: &[&str] = &["가", "이", "은", "는", "が", "は"];

/// Verbs of a possibility: "it *could* also be 4".
pub(super) const MODALS: &[&str] = &[
    "could", "might", "may", "can", "könnte", "pourrait", "podría",
];

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
