//! Words and phrases that take an answer back, open it again or refute it. Contains no logic.

/// Interjections that may start a retraction: "*wait*, that is wrong".
pub(crate) const INTERJECTIONS: &[&str] = &[
    "no",
    "nope",
    "wait",
    "actually",
    "sorry",
    "correction",
    "oops",
    "hmm",
    "update",
    "edit",
    "scratch",
    "rather",
    "non",
    "nein",
    "不",
    "不对",
    "等等",
    "更正",
    "perdón",
    "desculpe",
    "nee",
    "nej",
    "нет",
    "아니",
];

/// Imperatives and negations that are interjections if a mark follows: "*Espera*, son 42". Others
/// are a part of their sentence: "Espera 5 minutos".
pub(crate) const WAITS: &[&str] = &[
    "warte",
    "attends",
    "attendez",
    "espera",
    "espere",
    "aspetta",
    "wacht",
    "vänta",
    "bekle",
    "подождите",
    "czekaj",
    "tunggu",
    "khoan",
    "रुको",
    "hayır",
    "nie",
    "tidak",
    "không",
    "नहीं",
    "等一下",
];

/// Words that may precede an interjection: "*but* wait".
pub(crate) const OPENERS: &[&str] = &["but", "oh", "and", "well", "ah"];

/// Subjects that refer to what was just said.
pub(crate) const DEMONSTRATIVES: &[&str] = &[
    "that", "that's", "this", "it", "it's", "c'est", "cela", "das", "eso", "esto", "isso",
    "questo", "это", "dit", "det", "bu",
];

/// Words for a fault, which retract an answer: "that is *wrong*".
pub(crate) const FAULTS: &[&str] = &[
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
    "impossible",
    "invalid",
    "false",
    "неверно",
    "неправильно",
    "yanlış",
    "fout",
    "błędna",
    "błędne",
    "błąd",
    "salah",
    "गलत",
    "fel",
    "errore",
    "erro",
    "errei",
    "enganei",
    "equivoqué",
    "trompé",
    "ошибся",
    "ошиблась",
    "ошибка",
];

/// Verbs that refute an answer: "17, which *fails*".
pub(crate) const FAILS: &[&str] = &["fails", "failed", "contradicts", "scheitert", "échoue"];

/// Verbs of a supposition that the text does not make: "if the answer *were* 17".
pub(crate) const SUBJUNCTIVES: &[&str] = &["were", "was", "wäre", "était", "fuera", "fosse"];

/// Verbs of slips, which retract an answer after an interjection: "wait, I *forgot* one".
pub(crate) const SLIPS: &[&str] = &[
    "forgot",
    "miscounted",
    "miscalculated",
    "misread",
    "overlooked",
    "missed",
    "miswrote",
];

/// Words for correctness, which retract an answer if they are negated: "that is not *right*".
pub(crate) const RIGHTS: &[&str] = &[
    "right", "correct", "true", "possible", "juste", "exact", "richtig", "correcto", "correcta",
];

/// Phrases at the start of a sentence that open the answer again: "*On second thought*, it is 42".
pub(crate) const RECONSIDERS: &[&str] = &[
    "on second thought",
    "on second thoughts",
    "on reflection",
    "thinking again",
    "hold on",
    "let me correct",
    "let me reconsider",
    "i stand corrected",
    "bei näherer betrachtung",
    "à la réflexion",
    "重新考虑",
];

/// Phrases at the start of a sentence that check the answer, which may change it: "*Let me recount*:
/// …".
pub(crate) const RECHECKS: &[&str] = &[
    "let me recheck",
    "let me recount",
    "let me recalculate",
    "let me double check",
    "let me double-check",
    "let me check again",
    "let's recheck",
    "let's double check",
    "let's double-check",
    "checking again",
];

/// Words that contrast a sentence with the answer before it: "*However*, we must add one".
pub(crate) const CONTRASTS: &[&str] = &["however", "jedoch", "cependant", "toutefois"];

/// Words for something that an answer lacks: "However, we *must* add one".
pub(crate) const LACKS: &[&str] = &[
    "must",
    "need",
    "forgot",
    "missed",
    "overlooked",
    "müssen",
    "devons",
    "faut",
];

/// Phrases at the start of a sentence that are a retraction by themselves.
pub(crate) const RETRACTIONS: &[&str] = &["scratch that", "strike that", "不对", "错了"];

/// Words that may precede the value of a correction: "I *meant* 42".
pub(crate) const CORRECTING: &[&str] = &[
    "it",
    "it's",
    "that",
    "that's",
    "i",
    "mean",
    "meant",
    "should",
    "must",
    "have",
    "been",
    "the",
    "we",
    "get",
    "c'est",
    "es",
    "answer",
    "correct",
    "final",
    "value",
    "result",
    "which",
    "gives",
    "giving",
    "makes",
    "making",
    "devrait",
    "être",
    "sollte",
    "sein",
    "sind",
    "debería",
    "ser",
    "het",
    "dit",
    "det",
    "это",
    "questo",
    "isso",
    "son",
    "sono",
    "应该",
    "应该是",
    "应为",
];

/// Words that make the clause of a value a conclusion. Without an interjection in the same sentence
/// one of them must precede the value.
pub(crate) const CONCLUDING: &[&str] = &[
    "it",
    "it's",
    "that's",
    "so",
    "therefore",
    "thus",
    "hence",
    "c'est",
    "应该是",
    "应为",
];

/// Words of phrases that open the answer again, before the value in their sentence.
pub(crate) const RECONSIDERING: &[&str] = &[
    "on",
    "second",
    "thought",
    "thoughts",
    "reflection",
    "thinking",
    "again",
    "hold",
];

/// Words before the value that an amendment leads to: "we must add one, *which gives* 42".
pub(crate) const RESULTING: &[&str] = &["gives", "giving", "makes", "making", "so"];

/// Subjects that refer to the writer.
pub(crate) const FIRST_PERSON: &[&str] = &["i", "my", "ich", "je", "j'ai", "me", "eu", "ho", "я"];
