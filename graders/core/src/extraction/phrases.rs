//! The words that say where an answer is, by language, in one table. Scans nothing: scanners ask it about a word.

/// What stands between two answers of one list. The order says which wins where several stand there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Joiner {
    Comma,
    Equals,
    And,
    Or,
}

impl Joiner {
    /// How a list spells it, whatever the language of the text.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Comma => ", ",
            Self::Equals => " = ",
            Self::And => " and ",
            Self::Or => " or ",
        }
    }
}

/// Words of one language. All are lower case; a blank matches any blank space.
pub(super) struct Language {
    /// Code and English name, as a task may give them.
    names: &'static [&'static str],
    /// What an answer is called: "the *answer* is 5", "*答案*：5".
    answer: &'static [&'static str],
    /// The same, too short to be safe unless the language is known: "*R*: 5".
    answer_if_known: &'static [&'static str],
    /// Verbs between the name and the value: "the answer *is* 5".
    verb: &'static [&'static str],
    /// Words that may stand between name and verb: "the answer *to the question* is 5".
    between: &'static [&'static str],
    /// Words before a value that are no part of it: "is *approximately* 5".
    before_value: &'static [&'static str],
    /// Words that open a conclusion, or name it: "*therefore* …", "the *result* …".
    conclusion: &'static [&'static str],
    /// "It is *not* B."
    not: &'static [&'static str],
    and: &'static [&'static str],
    or: &'static [&'static str],
    /// Words that follow a number and are not its unit: "5 *because* …".
    no_unit: &'static [&'static str],
}

pub(super) const LANGUAGES: &[Language] = &[
    Language {
        names: &["en", "english"],
        answer: &["answer", "answers"],
        answer_if_known: &["a", "ans"],
        verb: &["is", "are", "was", "equals", "be", "becomes"],
        between: &[
            "to",
            "for",
            "of",
            "in",
            "here",
            "we",
            "you",
            "that",
            "i",
            "should",
            "must",
            "would",
            "will",
            "then",
            "thus",
            "therefore",
            "now",
            "as",
            "after",
            "choice",
            "option",
            "key",
            "value",
        ],
        before_value: &[
            "is",
            "be",
            "equal",
            "equals",
            "to",
            "by",
            "given",
            "for",
            "sure",
            "definitely",
            "certainly",
            "clearly",
            "indeed",
            "simply",
            "just",
            "therefore",
            "thus",
            "then",
            "approximately",
            "about",
            "around",
            "roughly",
            "exactly",
            "only",
            "also",
            "now",
            "probably",
            "likely",
            "option",
            "choice",
            "letter",
            "actually",
            "still",
            "hence",
            "so",
            "precisely",
            "obviously",
            "nearly",
            "almost",
        ],
        conclusion: &[
            "therefore",
            "thus",
            "hence",
            "so",
            "consequently",
            "result",
            "solution",
            "total",
            "finally",
            "altogether",
        ],
        not: &[
            "not",
            "isn't",
            "can't",
            "cannot",
            "never",
            "neither",
            "nor",
            "wasn't",
            "aren't",
            "don't",
            "doesn't",
            "won't",
            "couldn't",
            "wouldn't",
            "shouldn't",
        ],
        and: &["and"],
        or: &["or"],
        no_unit: &[
            "a",
            "an",
            "the",
            "is",
            "are",
            "was",
            "were",
            "be",
            "been",
            "has",
            "have",
            "had",
            "because",
            "since",
            "as",
            "so",
            "which",
            "that",
            "this",
            "these",
            "those",
            "when",
            "where",
            "while",
            "if",
            "but",
            "for",
            "with",
            "to",
            "of",
            "from",
            "at",
            "on",
            "by",
            "than",
            "then",
            "therefore",
            "thus",
            "hence",
            "it",
            "its",
            "he",
            "she",
            "they",
            "we",
            "you",
            "i",
            "more",
            "less",
            "left",
            "total",
            "each",
            "every",
            "must",
            "can",
            "could",
            "will",
            "would",
            "should",
            "does",
            "do",
            "did",
            "there",
            "after",
            "before",
            "times",
            "into",
            "also",
            "only",
            "however",
            "such",
            "not",
            "gives",
            "makes",
            "means",
            "equals",
            "once",
            "until",
            "unless",
            "without",
            "within",
            "between",
            "among",
            "through",
            "during",
            "about",
            "remain",
            "remaining",
            "altogether",
            "overall",
            "in",
        ],
    },
    Language {
        names: &["zh", "chinese"],
        answer: &["答案", "答", "正确选项"],
        answer_if_known: &[],
        verb: &[
            "是",
            "为",
            "為",
            "等于",
            "等於",
            "应该是",
            "应为",
            "就是",
            "即",
        ],
        between: &["应该", "應該", "应", "應", "也", "就"],
        before_value: &[
            "是", "为", "為", "选", "選", "选项", "約", "约", "大约", "等于",
        ],
        conclusion: &["所以", "因此", "故", "从而", "综上", "总共", "一共", "共"],
        not: &["不是", "不", "非", "没有", "并非"],
        and: &["和", "与", "與", "以及", "及"],
        or: &["或", "或者", "或是"],
        no_unit: &[],
    },
    Language {
        names: &["fr", "french"],
        answer: &["réponse", "réponses", "reponse"],
        answer_if_known: &["r"],
        verb: &["est", "sont", "vaut", "égale", "sera"],
        between: &[
            "à", "finale", "correcte", "exacte", "de", "pour", "doit", "serait", "donc", "bonne",
            "attendue",
        ],
        before_value: &[
            "est",
            "donc",
            "de",
            "environ",
            "exactement",
            "égale",
            "égal",
            "à",
            "bien",
            "sûrement",
            "simplement",
            "alors",
            "la",
            "lettre",
        ],
        conclusion: &[
            "donc",
            "ainsi",
            "finalement",
            "résultat",
            "conclusion",
            "total",
        ],
        not: &["non", "pas", "ne", "n'est", "ni"],
        and: &["et"],
        or: &["ou"],
        no_unit: &[
            "est", "sont", "de", "des", "du", "le", "la", "les", "un", "une", "à", "pour", "par",
            "que", "qui", "donc", "car", "mais", "avec", "dans", "en", "il", "elle", "sur", "fois",
            "ans,", "chacun", "au", "aux", "ce", "cette", "si", "alors", "plus", "moins", "ne",
        ],
    },
    Language {
        names: &["de", "german"],
        answer: &["antwort", "antworten", "endantwort", "endergebnis"],
        answer_if_known: &["a"],
        verb: &["ist", "sind", "lautet", "beträgt", "wäre"],
        between: &[
            "auf", "zu", "für", "der", "die", "lautet", "also", "somit", "daher",
        ],
        before_value: &[
            "ist",
            "also",
            "somit",
            "daher",
            "etwa",
            "ungefähr",
            "genau",
            "gleich",
            "sicher",
            "option",
        ],
        conclusion: &[
            "also",
            "daher",
            "somit",
            "folglich",
            "deshalb",
            "insgesamt",
            "ergebnis",
            "lösung",
        ],
        not: &["nicht", "kein", "keine", "weder", "nie"],
        and: &["und"],
        or: &["oder"],
        no_unit: &[
            "ist",
            "sind",
            "der",
            "die",
            "das",
            "den",
            "dem",
            "ein",
            "eine",
            "und",
            "weil",
            "da",
            "denn",
            "aber",
            "mit",
            "für",
            "von",
            "zu",
            "auf",
            "bei",
            "mehr",
            "weniger",
            "mal",
            "als",
            "wenn",
            "dann",
            "hat",
            "haben",
            "werden",
            "wird",
            "bleiben",
            "übrig",
            "insgesamt",
            "pro",
        ],
    },
    Language {
        names: &["es", "spanish"],
        answer: &["respuesta", "respuestas"],
        answer_if_known: &["r", "a"],
        verb: &["es", "son", "sería", "será", "vale"],
        between: &[
            "a", "final", "correcta", "de", "para", "debe", "por", "en", "entonces",
        ],
        before_value: &[
            "es",
            "ser",
            "de",
            "igual",
            "a",
            "aproximadamente",
            "exactamente",
            "entonces",
            "la",
            "opción",
            "claramente",
        ],
        conclusion: &[
            "entonces",
            "luego",
            "tanto",
            "así",
            "finalmente",
            "resultado",
            "solución",
            "total",
        ],
        not: &["no", "ni", "nunca"],
        and: &["y", "e"],
        or: &["o", "u"],
        no_unit: &[
            "es", "son", "de", "del", "el", "la", "los", "las", "un", "una", "por", "para", "que",
            "pero", "con", "en", "porque", "cada", "más", "menos", "si", "entonces", "al", "se",
            "y", "o", "e", "u",
        ],
    },
    Language {
        names: &["pt", "portuguese"],
        answer: &["resposta", "respostas"],
        answer_if_known: &["r"],
        verb: &["é", "são", "seria", "será", "vale"],
        between: &["final", "correta", "de", "para", "à", "deve", "portanto"],
        before_value: &[
            "é",
            "ser",
            "de",
            "igual",
            "a",
            "aproximadamente",
            "exatamente",
            "então",
            "opção",
        ],
        conclusion: &["portanto", "logo", "assim", "então", "resultado", "total"],
        not: &["não", "nem", "nunca"],
        and: &["e"],
        or: &["ou"],
        no_unit: &[
            "é", "são", "do", "da", "dos", "das", "um", "uma", "que", "mas", "com", "em", "mais",
            "cada",
        ],
    },
    Language {
        names: &["it", "italian"],
        answer: &["risposta", "risposte"],
        answer_if_known: &["r"],
        verb: &["è", "sono", "sarebbe", "sarà"],
        between: &[
            "finale", "corretta", "a", "di", "per", "alla", "deve", "quindi",
        ],
        before_value: &[
            "è",
            "di",
            "circa",
            "esattamente",
            "quindi",
            "pari",
            "a",
            "opzione",
        ],
        conclusion: &[
            "quindi",
            "pertanto",
            "dunque",
            "perciò",
            "risultato",
            "totale",
        ],
        not: &["non", "né", "mai"],
        and: &["e", "ed"],
        or: &["o", "oppure"],
        no_unit: &[
            "è", "sono", "di", "del", "il", "lo", "gli", "che", "ma", "con", "più", "meno", "per",
        ],
    },
    Language {
        names: &["ru", "russian"],
        answer: &["ответ", "ответы", "ответом"],
        answer_if_known: &[],
        verb: &["есть", "равен", "равно", "равна", "является", "—", "будет"],
        between: &["на", "к", "задачи", "таков"],
        before_value: &["равен", "примерно", "около", "ровно", "это", "вариант"],
        conclusion: &["следовательно", "итак", "поэтому", "значит", "таким"],
        not: &["не", "нет", "ни"],
        and: &["и"],
        or: &["или"],
        no_unit: &[
            "и",
            "или",
            "так",
            "потому",
            "что",
            "но",
            "для",
            "на",
            "в",
            "с",
            "из",
            "по",
            "это",
        ],
    },
    Language {
        names: &["ar", "arabic"],
        answer: &["الجواب", "الإجابة", "الاجابة", "جواب"],
        answer_if_known: &[],
        verb: &["هو", "هي", "تساوي", "يساوي"],
        between: &["النهائي", "النهائية", "الصحيح", "الصحيحة"],
        before_value: &["هو", "هي", "تقريبا", "حوالي"],
        conclusion: &["لذا", "إذن", "لذلك", "وبالتالي", "بالتالي"],
        not: &["ليس", "ليست", "لا", "غير"],
        and: &["و"],
        or: &["أو"],
        no_unit: &[],
    },
    Language {
        names: &["hi", "hindi"],
        answer: &["उत्तर", "जवाब"],
        answer_if_known: &[],
        verb: &["है", "हैं", "होगा"],
        between: &["अंतिम", "सही"],
        before_value: &["है", "लगभग"],
        conclusion: &["इसलिए", "अतः", "इस"],
        not: &["नहीं", "न"],
        and: &["और"],
        or: &["या"],
        no_unit: &[],
    },
    Language {
        names: &["ja", "japanese"],
        answer: &["答え", "解答", "正解"],
        answer_if_known: &[],
        verb: &["は"],
        between: &[],
        before_value: &["は"],
        conclusion: &["したがって", "よって", "ゆえに"],
        not: &["ではない", "ない"],
        and: &["と", "および"],
        or: &["または", "か"],
        no_unit: &[],
    },
    Language {
        names: &["ko", "korean"],
        answer: &["정답", "답"],
        answer_if_known: &[],
        verb: &["은", "는"],
        between: &[],
        before_value: &["은", "는", "약"],
        conclusion: &["따라서", "그러므로"],
        not: &["아니다", "아닌"],
        and: &["와", "과", "그리고"],
        or: &["또는"],
        no_unit: &[],
    },
];

/// Words before the name of an answer that make the statement say something else: "if the answer is 5", "to answer is …".
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

/// Words that count something and may follow a number without being glued to it.
pub(super) const FUNCTIONS: &[&str] = &[
    "sqrt", "cbrt", "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh",
    "cosh", "tanh", "log", "ln", "lg", "exp", "abs", "gcd", "lcm", "max", "min", "mod", "pi",
    "theta", "infinity", "inf", "infty", "floor", "ceil", "det", "binom",
];

fn any(word: &str, list: impl Fn(&Language) -> &'static [&'static str]) -> bool {
    LANGUAGES
        .iter()
        .any(|language| list(language).contains(&word))
}

/// What `word` (in any case) joins, if it is a joiner.
pub(super) fn joiner(word: &str) -> Option<Joiner> {
    let word = lower(word);
    if any(&word, |language| language.or) {
        Some(Joiner::Or)
    } else if any(&word, |language| language.and) {
        Some(Joiner::And)
    } else {
        None
    }
}

/// Whether `word` is a verb between an answer's name and its value, or between a subject and what it is.
pub(super) fn is_verb(word: &str) -> bool {
    any(&lower(word), |language| language.verb)
}

/// Whether `word` may stand between an answer's name and the verb.
pub(super) fn is_between(word: &str) -> bool {
    any(&lower(word), |language| language.between)
}

/// Whether `word` may stand before a value without being part of it.
pub(super) fn is_before_value(word: &str) -> bool {
    any(&lower(word), |language| language.before_value)
}

/// Whether `word` opens or names a conclusion.
pub(super) fn is_conclusion(word: &str) -> bool {
    any(&lower(word), |language| language.conclusion)
}

/// Whether `word` denies what follows.
pub(super) fn is_not(word: &str) -> bool {
    any(&lower(word), |language| language.not)
}

/// Whether `word` after a number is a word of the sentence and no unit.
pub(super) fn is_no_unit(word: &str) -> bool {
    any(&lower(word), |language| language.no_unit)
}

/// The names of an answer, with those that need `language` to be known where it is.
pub(super) fn answer_names(language: Option<&str>) -> impl Iterator<Item = &'static str> {
    let known = language.map(str::to_lowercase);
    LANGUAGES.iter().flat_map(move |entry| {
        let matches = known
            .as_deref()
            .is_some_and(|known| entry.names.contains(&known));
        let short: &[&str] = if matches { entry.answer_if_known } else { &[] };
        entry.answer.iter().chain(short).copied()
    })
}

/// Lower case, without allocating for words that have it.
pub(super) fn lower(word: &str) -> std::borrow::Cow<'_, str> {
    if word.chars().any(char::is_uppercase) {
        std::borrow::Cow::Owned(word.to_lowercase().replace('’', "'"))
    } else if word.contains('’') {
        std::borrow::Cow::Owned(word.replace('’', "'"))
    } else {
        std::borrow::Cow::Borrowed(word)
    }
}
