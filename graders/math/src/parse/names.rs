//! Tables of LaTeX commands, characters and function names. How they combine is decided by the
//! parser.

use super::token::{Kind, Shape};
use crate::tree::{Constant, End, Expr, Function, NamedSet, Relation};

/// How the lexer treats a command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Meaning<'a> {
    /// It is a token.
    Is(Kind<'a>),
    /// It changes the layout, not the meaning.
    Layout,
    /// Like [`Meaning::Layout`], with an argument that is ignored.
    LayoutWithArgument,
    /// It sizes the next bracket, which may open or close.
    Sizes { opens: bool, closes: bool },
    /// Its argument is words.
    Words,
    /// Its argument is mathematics in another style.
    Style,
    /// Its argument is one letter that names a set.
    Blackboard,
    /// An environment begins or ends.
    Environment { begins: bool },
}

/// The meaning of `\name`.
pub(crate) fn command(name: &str) -> Option<Meaning<'_>> {
    use Kind::{Close, Command, Open};
    let is = |kind| Some(Meaning::Is(kind));
    let relation = |relation| Some(Meaning::Is(Kind::Relation(relation)));
    match name {
        "left" | "mleft" | "bigl" | "Bigl" | "biggl" | "Biggl" => Some(Meaning::Sizes {
            opens: true,
            closes: false,
        }),
        "right" | "mright" | "bigr" | "Bigr" | "biggr" | "Biggr" => Some(Meaning::Sizes {
            opens: false,
            closes: true,
        }),
        "big" | "Big" | "bigg" | "Bigg" | "middle" | "bigm" | "Bigm" => Some(Meaning::Sizes {
            opens: false,
            closes: false,
        }),
        "quad" | "qquad" => is(Kind::Quad),
        "displaystyle" | "textstyle" | "scriptstyle" | "limits" | "nolimits" | "noindent"
        | "boxed" | "fbox" | "bf" | "rm" | "it" | "tt" | "sf" | "cal" | "enspace" | "thinspace"
        | "medspace" | "thickspace" | "negthinspace" | "hfill" | "newline" | "centering"
        | "par" | "strut" | "nonumber" | "notag" | "hline" | "Large" | "large" | "huge"
        | "Huge" | "small" | "mathstrut" | "ensuremath" | "underbrace" | "overbrace"
        | "variable" | "null" | "relax" | "allowbreak" | "enclose" | "LARGE" | "tiny"
        | "unicode" | "framebox" => Some(Meaning::Layout),
        "phantom" | "hphantom" | "vphantom" | "colorbox" | "color" | "textcolor" | "label"
        | "tag" | "hspace" | "vspace" | "hskip" | "kern" | "mspace" | "fontsize" => {
            Some(Meaning::LayoutWithArgument)
        }
        "text" | "textbf" | "textit" | "textrm" | "textnormal" | "textsf" | "texttt" | "mbox"
        | "hbox" | "mathrm" | "operatorname" | "mathop" | "emph" | "textup" | "textsc"
        | "mathtt" | "underline" | "uline" => Some(Meaning::Words),
        "mathbf" | "boldsymbol" | "bm" | "mathit" | "mathsf" | "mathcal" | "mathscr"
        | "mathfrak" | "pmb" | "mathnormal" | "bold" | "Bbb" => Some(Meaning::Style),
        "mathbb" | "mathds" => Some(Meaning::Blackboard),
        "begin" => Some(Meaning::Environment { begins: true }),
        "end" => Some(Meaning::Environment { begins: false }),

        "frac" | "dfrac" | "tfrac" | "cfrac" | "sfrac" | "nicefrac" => is(Command("frac")),
        "binom" | "dbinom" | "tbinom" => is(Command("binom")),
        "over" => is(Command("over")),
        "choose" => is(Command("choose")),
        "sqrt" | "surd" => is(Command("sqrt")),
        "cdot" | "times" | "ast" | "cdotp" | "bullet" | "star" => is(Kind::Times),
        "div" => is(Command("div")),
        "pm" => is(Kind::PlusMinus),
        "mp" => is(Kind::MinusPlus),
        "lvert" => is(Open(Shape::Bar)),
        "rvert" => is(Close(Shape::Bar)),
        "vert" | "mid" | "lVert" | "rVert" | "Vert" | "Mid" => is(Kind::Bar),
        "langle" | "lang" => is(Open(Shape::End(End::Angle))),
        "rangle" | "rang" => is(Close(Shape::End(End::Angle))),
        "lbrace" => is(Open(Shape::Set)),
        "rbrace" => is(Close(Shape::Set)),
        "lbrack" => is(Open(Shape::End(End::Square))),
        "rbrack" => is(Close(Shape::End(End::Square))),
        "lparen" | "lgroup" => is(Open(Shape::End(End::Round))),
        "rparen" | "rgroup" => is(Close(Shape::End(End::Round))),
        "lfloor" | "llcorner" => is(Open(Shape::Floor)),
        "rfloor" | "lrcorner" => is(Close(Shape::Floor)),
        "lceil" | "ulcorner" => is(Open(Shape::Ceil)),
        "rceil" | "urcorner" => is(Close(Shape::Ceil)),
        "colon" => is(Kind::Colon),
        "prime" => is(Kind::Prime),
        "ldots" | "dots" | "cdots" | "dotsc" | "dotsb" | "dotsm" | "dotso" | "hdots" => {
            is(Kind::Ellipsis)
        }
        "degree" => is(Kind::Degree),
        "pounds" => is(Kind::Currency('£')),
        "euro" => is(Kind::Currency('€')),
        "yen" => is(Kind::Currency('¥')),
        "backslash" | "setminus" | "smallsetminus" => is(Command("setminus")),
        "cup" | "bigcup" | "cupdot" | "sqcup" | "uplus" => is(Command("cup")),
        "cap" | "bigcap" | "sqcap" => is(Command("cap")),
        "lor" | "vee" => is(Command("or")),
        "land" | "wedge" => is(Command("and")),

        "eq" => relation(Relation::Equal),
        "neq" | "ne" | "lessgtr" | "gtrless" => relation(Relation::NotEqual),
        "lt" => relation(Relation::Less),
        "gt" => relation(Relation::Greater),
        "leq" | "le" | "leqslant" | "leqq" => relation(Relation::LessEqual),
        "geq" | "ge" | "geqslant" | "geqq" => relation(Relation::GreaterEqual),
        "approx" | "thickapprox" | "approxeq" | "doteq" | "fallingdotseq" => {
            relation(Relation::Approx)
        }
        "equiv" => relation(Relation::Congruent),
        "in" | "isin" => relation(Relation::In),
        "notin" => relation(Relation::NotIn),
        "subset" | "subseteq" | "subseteqq" => relation(Relation::Subset),
        "supset" | "supseteq" | "supseteqq" => relation(Relation::Superset),
        "subsetneq" | "subsetneqq" => relation(Relation::ProperSubset),
        "supsetneq" | "supsetneqq" => relation(Relation::ProperSuperset),
        "ni" | "owns" => relation(Relation::Contains),
        "to" | "rightarrow" | "mapsto" | "longrightarrow" | "longmapsto" => {
            relation(Relation::Maps)
        }
        "Rightarrow" | "implies" | "Longrightarrow" => relation(Relation::Implies),
        "iff" | "Leftrightarrow" | "Longleftrightarrow" => relation(Relation::Equivalent),
        "perp" | "bot" => relation(Relation::Perpendicular),
        "parallel" => relation(Relation::Parallel),
        "sim" | "simeq" | "backsim" => relation(Relation::Similar),
        "cong" => relation(Relation::SameFigure),

        "not" => is(Command("not")),
        "cr" => is(Kind::Row),
        "bmod" | "mod" => is(Command("mod")),
        "imath" => is(Kind::Styled("i")),
        "jmath" => is(Kind::Styled("j")),
        "exponentialE" => is(Kind::Styled("e")),
        "imaginaryI" | "imaginaryJ" => is(Kind::Styled("i")),
        "pmod" | "pod" => is(Command("pmod")),
        "iint" => is(Command("int")),
        "oint" => is(Command("oint")),
        "sum" | "prod" | "int" | "lim" => is(Command(name)),
        "infty" | "infin" | "infinity" => is(Command("infty")),
        "emptyset" | "varnothing" | "empty" | "O" => is(Command("emptyset")),
        "circ" => is(Command("circ")),
        "overline" | "bar" | "widebar" => is(Command("overline")),
        "dot" => is(Command("dot")),
        "vec" | "overrightarrow" | "hat" | "widehat" | "tilde" | "widetilde" | "ddot"
        | "overset" | "underset" | "stackrel" | "overarc" | "wideparen" => is(Command(name)),
        "substack" => Some(Meaning::Layout),
        "angle" | "triangle" | "square" | "Box" | "Delta" | "nabla" | "forall" | "exists"
        | "partial" | "hbar" | "ell" | "aleph" | "therefore" | "because" | "checkmark"
        | "measuredangle" | "odot" | "oplus" | "otimes" | "neg" | "lnot" | "complement" | "mho"
        | "diamond" | "Diamond" | "blacksquare" | "dagger" | "top" => is(Command(name)),
        "Re" => is(Command("re")),
        "Im" => is(Command("im")),
        "R" | "Reals" | "reals" => is(Command("Reals")),
        "N" => is(Command("Naturals")),
        "Z" => is(Command("Integers")),
        "Q" => is(Command("Rationals")),
        "C" => is(Command("Complexes")),
        "mathord" | "mathrel" | "mathbin" | "mathopen" | "mathclose" | "mathpunct" => {
            Some(Meaning::Layout)
        }
        "transpose" | "intercal" => is(Command("transpose")),
        other => greek(other)
            .or_else(|| function_name(other))
            .map(|name| Meaning::Is(Command(name))),
    }
}

/// The name of a Greek letter; variants are the same letter.
pub(crate) fn greek(name: &str) -> Option<&str> {
    Some(match name {
        "varepsilon" => "epsilon",
        "vartheta" => "theta",
        "varphi" => "phi",
        "varrho" => "rho",
        "varsigma" => "sigma",
        "varkappa" => "kappa",
        "Gamma" | "Lambda" | "Omega" | "Phi" | "Pi" | "Psi" | "Sigma" | "Theta" | "Upsilon"
        | "Xi" | "alpha" | "beta" | "chi" | "delta" | "epsilon" | "eta" | "gamma" | "iota"
        | "kappa" | "lambda" | "mu" | "nu" | "omega" | "omicron" | "phi" | "pi" | "psi" | "rho"
        | "sigma" | "tau" | "theta" | "upsilon" | "xi" | "zeta" => name,
        _ => return None,
    })
}

/// The usual name of a function, as a command or a bare word.
pub(crate) fn function_name(name: &str) -> Option<&str> {
    Some(match name {
        "tg" => "tan",
        "ctg" | "cotan" | "ctan" => "cot",
        "cosec" => "csc",
        "asin" => "arcsin",
        "acos" => "arccos",
        "atan" | "arctg" => "arctan",
        "acot" | "arcctg" => "arccot",
        "asinh" | "arcsinh" => "arsinh",
        "acosh" | "arccosh" => "arcosh",
        "atanh" | "arctanh" => "artanh",
        "sh" => "sinh",
        "ch" => "cosh",
        "ceiling" => "ceil",
        "sign" => "sgn",
        "Arg" => "arg",
        "Re" => "re",
        "Im" => "im",
        "abs" | "arccos" | "arccot" | "arcosh" | "arcsin" | "arctan" | "arg" | "arsinh"
        | "artanh" | "ceil" | "cis" | "cos" | "cosh" | "cot" | "coth" | "csc" | "csch" | "det"
        | "exp" | "floor" | "gcd" | "lcm" | "lg" | "ln" | "log" | "max" | "min" | "sec"
        | "sech" | "sgn" | "sin" | "sinh" | "tan" | "tanh" => name,
        _ => return None,
    })
}

/// The function with this usual name.
pub(crate) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "sin" => Function::Sin,
        "cos" => Function::Cos,
        "tan" => Function::Tan,
        "cot" => Function::Cot,
        "sec" => Function::Sec,
        "csc" => Function::Csc,
        "arcsin" => Function::Arcsin,
        "arccos" => Function::Arccos,
        "arctan" => Function::Arctan,
        "arccot" => Function::Arccot,
        "sinh" => Function::Sinh,
        "cosh" => Function::Cosh,
        "tanh" => Function::Tanh,
        "arsinh" => Function::Arsinh,
        "arcosh" => Function::Arcosh,
        "artanh" => Function::Artanh,
        "ln" => Function::Ln,
        "gcd" => Function::Gcd,
        "lcm" => Function::Lcm,
        "min" => Function::Min,
        "max" => Function::Max,
        "floor" => Function::Floor,
        "ceil" => Function::Ceil,
        "det" => Function::Det,
        "sgn" => Function::Sign,
        "abs" => Function::Abs,
        "arg" => Function::Arg,
        "re" => Function::Re,
        "im" => Function::Im,
        _ => return None,
    })
}

/// The value of a command that is one by itself.
pub(crate) fn value(name: &str) -> Option<Expr> {
    Some(match name {
        "pi" => Expr::Constant(Constant::Pi),
        "infty" => Expr::Constant(Constant::Infinity),
        "emptyset" => Expr::Named(NamedSet::Empty),
        "Reals" => Expr::Named(NamedSet::Reals),
        "Integers" => Expr::Named(NamedSet::Integers),
        "Naturals" => Expr::Named(NamedSet::Naturals),
        "Rationals" => Expr::Named(NamedSet::Rationals),
        "Complexes" => Expr::Named(NamedSet::Complexes),
        "square" | "triangle" | "Delta" | "ell" | "hbar" | "odot" | "nabla" | "partial"
        | "aleph" | "mho" | "diamond" | "checkmark" | "dagger" | "top" => Expr::symbol(name),
        _ => return greek(name).map(Expr::symbol),
    })
}

/// The token of a character outside of ASCII.
pub(crate) fn character(c: char) -> Option<Kind<'static>> {
    use Kind::{Close, Command, Fraction, Open};
    Some(match c {
        'π' | '𝜋' => Command("pi"),
        '∞' => Command("infty"),
        '∅' => Command("emptyset"),
        '√' => Command("sqrt"),
        '×' | '·' | '⋅' | '∙' | '•' | '∗' | '⨯' | '✕' => Kind::Times,
        '÷' => Command("div"),
        '−' | '–' | '—' | '‐' | '‑' | '‒' | '﹣' => Kind::Minus,
        '±' => Kind::PlusMinus,
        '∓' => Kind::MinusPlus,
        '≤' | '⩽' | '≦' => Kind::Relation(Relation::LessEqual),
        '≥' | '⩾' | '≧' => Kind::Relation(Relation::GreaterEqual),
        '≠' => Kind::Relation(Relation::NotEqual),
        '≈' | '≃' => Kind::Relation(Relation::Approx),
        '≡' => Kind::Relation(Relation::Congruent),
        '∈' => Kind::Relation(Relation::In),
        '∉' => Kind::Relation(Relation::NotIn),
        '≶' | '≷' => Kind::Relation(Relation::NotEqual),
        '⊊' => Kind::Relation(Relation::ProperSubset),
        '⊋' => Kind::Relation(Relation::ProperSuperset),
        '⊂' | '⊆' => Kind::Relation(Relation::Subset),
        '→' | '↦' => Kind::Relation(Relation::Maps),
        '⇒' => Kind::Relation(Relation::Implies),
        '⇔' => Kind::Relation(Relation::Equivalent),
        '⊥' => Kind::Relation(Relation::Perpendicular),
        '∥' => Kind::Relation(Relation::Parallel),
        '∼' => Kind::Relation(Relation::Similar),
        '≅' => Kind::Relation(Relation::SameFigure),
        '⊃' | '⊇' => Kind::Relation(Relation::Superset),
        '∋' => Kind::Relation(Relation::Contains),
        '∪' | '⋃' => Command("cup"),
        '∩' | '⋂' => Command("cap"),
        '∖' => Command("setminus"),
        '∧' => Command("and"),
        '∨' => Command("or"),
        '°' | 'º' | '˚' => Kind::Degree,
        '′' | '’' => Kind::Prime,
        '…' | '⋯' => Kind::Ellipsis,
        '⟨' | '〈' => Open(Shape::End(End::Angle)),
        '⟩' | '〉' => Close(Shape::End(End::Angle)),
        '⌊' => Open(Shape::Floor),
        '⌋' => Close(Shape::Floor),
        '⌈' => Open(Shape::Ceil),
        '⌉' => Close(Shape::Ceil),
        '、' => Kind::Comma,
        '∣' => Kind::Bar,
        '€' | '£' | '¥' => Kind::Currency(c),
        '∠' => Command("angle"),
        '△' => Command("triangle"),
        '□' => Command("square"),
        '∀' => Command("forall"),
        '∃' => Command("exists"),
        '∂' => Command("partial"),
        '∑' => Command("sum"),
        '∏' => Command("prod"),
        '∫' => Command("int"),
        '∮' => Command("oint"),
        'ℝ' => Command("Reals"),
        'ℤ' => Command("Integers"),
        'ℕ' => Command("Naturals"),
        'ℚ' => Command("Rationals"),
        'ℂ' => Command("Complexes"),
        '½' => Fraction(1, 2),
        '⅓' => Fraction(1, 3),
        '⅔' => Fraction(2, 3),
        '¼' => Fraction(1, 4),
        '¾' => Fraction(3, 4),
        '⅕' => Fraction(1, 5),
        '⅖' => Fraction(2, 5),
        '⅗' => Fraction(3, 5),
        '⅘' => Fraction(4, 5),
        '⅙' => Fraction(1, 6),
        '⅚' => Fraction(5, 6),
        '⅐' => Fraction(1, 7),
        '⅛' => Fraction(1, 8),
        '⅜' => Fraction(3, 8),
        '⅝' => Fraction(5, 8),
        '⅞' => Fraction(7, 8),
        '⅑' => Fraction(1, 9),
        '⅒' => Fraction(1, 10),
        'α' => Command("alpha"),
        'β' => Command("beta"),
        'γ' => Command("gamma"),
        'δ' => Command("delta"),
        'ε' | 'ϵ' => Command("epsilon"),
        'ζ' => Command("zeta"),
        'η' => Command("eta"),
        'θ' | 'ϑ' => Command("theta"),
        'ι' => Command("iota"),
        'κ' => Command("kappa"),
        'λ' => Command("lambda"),
        'μ' | 'µ' => Command("mu"),
        'ν' => Command("nu"),
        'ξ' => Command("xi"),
        'ρ' => Command("rho"),
        'σ' | 'ς' => Command("sigma"),
        'τ' => Command("tau"),
        'υ' => Command("upsilon"),
        'φ' | 'ϕ' => Command("phi"),
        'χ' => Command("chi"),
        'ψ' => Command("psi"),
        'ω' => Command("omega"),
        'Γ' => Command("Gamma"),
        'Δ' => Command("Delta"),
        'Θ' => Command("Theta"),
        'Λ' => Command("Lambda"),
        'Ξ' => Command("Xi"),
        'Π' => Command("Pi"),
        'Σ' => Command("Sigma"),
        'Φ' => Command("Phi"),
        'Ψ' => Command("Psi"),
        'Ω' => Command("Omega"),
        _ => return None,
    })
}

/// The plain character of a superscript or subscript; `true` for a superscript.
pub(crate) fn script(c: char) -> Option<(char, bool)> {
    // Called for every character, so most of them are excluded first.
    if !matches!(c, '²' | '³' | '¹' | 'ˣ' | 'ᵢ' | '\u{2070}'..='\u{209c}') {
        return None;
    }
    const SUPER: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱˣ";
    const SUPER_PLAIN: &str = "0123456789+-()nix";
    const SUB: &str = "₀₁₂₃₄₅₆₇₈₉₊₋ₙᵢₓₖₘ";
    const SUB_PLAIN: &str = "0123456789+-nixkm";
    let find = |from: &str, to: &str| {
        let at = from.chars().position(|own| own == c)?;
        to.chars().nth(at)
    };
    find(SUPER, SUPER_PLAIN)
        .map(|plain| (plain, true))
        .or_else(|| find(SUB, SUB_PLAIN).map(|plain| (plain, false)))
}
