//! Words that introduce an answer, in languages of Asia and Africa.

use super::language::Language;

pub(super) const CHINESE: Language = Language {
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
    never_unit: &[],
    not_after: &["不对", "错", "不正确", "不是答案"],
    of: &[],
    place: &["此时", "当", "其中", "这时"],
    verb_last: false,
};

pub(super) const ARABIC: Language = Language {
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
    never_unit: &[],
    not_after: &[],
    of: &["من"],
    place: &["عندما", "عند"],
    verb_last: false,
};

pub(super) const HINDI: Language = Language {
    names: &["hi", "hindi"],
    answer: &["उत्तर", "जवाब"],
    answer_if_known: &[],
    verb: &["है", "हैं", "होगा"],
    between: &["अंतिम", "सही"],
    before_value: &["है", "लगभग", "करीब"],
    conclusion: &["इसलिए", "अतः", "इस"],
    not: &["नहीं", "न"],
    and: &["और"],
    or: &["या"],
    never_unit: &[],
    not_after: &["नहीं"],
    of: &[],
    place: &["जब"],
    verb_last: true,
};

pub(super) const JAPANESE: Language = Language {
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
    never_unit: &[],
    not_after: &["ではな", "ではあり", "じゃな", "でな"],
    of: &[],
    place: &["このとき"],
    verb_last: true,
};

pub(super) const KOREAN: Language = Language {
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
    never_unit: &[],
    not_after: &["아니", "아닌", "아닙", "아녜"],
    of: &[],
    place: &["이때"],
    verb_last: true,
};

pub(super) const VIETNAMESE: Language = Language {
    names: &["vi", "vietnamese"],
    answer: &["đáp án", "đáp số", "câu trả lời", "kết quả"],
    verb: &["là", "bằng"],
    between: &["đúng", "cuối", "cùng", "của", "bài", "toán"],
    before_value: &["phải", "khoảng", "bằng"],
    conclusion: &["vậy", "tổng"],
    not: &["không", "chẳng"],
    and: &["và"],
    or: &["hoặc"],
    never_unit: &[
        "là", "vì", "và", "hoặc", "trong", "khi", "với", "không", "mà",
    ],
    of: &["trong"],
    place: &["khi", "tại", "với"],
    ..Language::EMPTY
};

pub(super) const INDONESIAN: Language = Language {
    names: &["id", "indonesian"],
    answer: &["jawaban", "jawabannya"],
    verb: &["adalah", "ialah", "yaitu", "merupakan"],
    between: &["yang", "benar", "tepat", "akhir", "akhirnya", "untuk"],
    before_value: &["sekitar", "tepat", "sama", "dengan"],
    conclusion: &["jadi", "maka", "totalnya", "hasil", "hasilnya"],
    not: &["bukan", "bukanlah", "tidak", "tidaklah"],
    or: &["atau"],
    never_unit: &[
        "adalah", "karena", "dari", "yang", "ketika", "saat", "untuk", "atau",
    ],
    of: &["dari"],
    place: &["ketika", "saat", "untuk"],
    ..Language::EMPTY
};

pub(super) const SWAHILI: Language = Language {
    names: &["sw", "swahili"],
    answer: &["jibu"],
    verb: &["ni"],
    conclusion: &["hivyo"],
    not: &["sio", "siyo"],
    of: &["kati"],
    ..Language::EMPTY
};

pub(super) const BENGALI: Language = Language {
    names: &["bn", "bengali"],
    answer: &["উত্তর"],
    verb: &["হল", "হলো"],
    not_after: &["\u{9a8}\u{9df}", "\u{9a8}\u{9af}\u{9bc}"],
    verb_last: true,
    ..Language::EMPTY
};

pub(super) const PERSIAN: Language = Language {
    names: &["fa", "persian"],
    answer: &["پاسخ", "جواب"],
    verb: &["برابر"],
    between: &["نهایی"],
    not_after: &["نیست"],
    of: &["از"],
    verb_last: true,
    ..Language::EMPTY
};
