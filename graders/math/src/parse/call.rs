//! Names and their arguments: letters and words, functions with or without brackets, fractions,
//! roots.

use std::ops::Neg as _;

use super::apply::{applies, apply, names_application};
use super::binder;
use super::bracket;
use super::expression::{self, Parsed, begins_factor, deeper, no_parse};
use super::factor::{atom, factor, letter_value};
use super::names;
use super::script::exponent;
use super::token::{Kind, Shape, Tokens};
use super::unit;
use crate::number::Rational;
use crate::tree::{Constant, End, Expr, Function};

const ROUND: Kind<'static> = Kind::Open(Shape::End(End::Round));

/// Parses a run of letters.
pub(crate) fn word<'t, 'a>(input: Tokens<'t, 'a>, word: &'a str) -> Parsed<'t, 'a> {
    let rest = input.skip(1);
    if word.len() == 1 {
        return letter(rest, word);
    }
    // `ch` and `sh` are functions only if an argument follows.
    let alone = matches!(word, "ch" | "sh") && !begins_factor(rest);
    if let Some(name) = names::function_name(word)
        .filter(|_| !alone)
        .or(match word {
            "sqrt" | "cbrt" => Some(word),
            _ => None,
        })
    {
        return function(rest, name);
    }
    match word {
        "inf" | "infinity" | "infty" | "Infinity" | "oo" => {
            return Ok((rest, Expr::Constant(Constant::Infinity)));
        }
        "Pi" => return Ok((rest, Expr::Constant(Constant::Pi))),
        "binomial" | "binom" | "factorial" if rest.first() == Some(ROUND) => {
            let (rest, arguments) = bracket::items(rest)?;
            let function = if word == "factorial" {
                Function::Factorial
            } else {
                Function::Binomial
            };
            return Ok((rest, Expr::Call(function, arguments)));
        }
        _ => {}
    }
    if let Some(value) = names::value(word) {
        return Ok((rest, value));
    }
    // `sinx`, `lnx`, `pir`.
    for length in (2..word.len().min(7)).rev() {
        let (Some(head), Some(tail)) = (word.get(..length), word.get(length..)) else {
            continue;
        };
        if tail.len() <= 2
            && let Some(name) = names::function_name(head)
        {
            let call = named_call(name, vec![letters(tail)])?;
            return Ok((rest, call));
        }
    }
    if is_product(word) {
        return Ok((rest, run(word)));
    }
    if rest.first() == Some(ROUND) && !rest.spaced() {
        return apply(rest, word);
    }
    Ok((rest, Expr::symbol(word)))
}

/// A single letter, with its arguments if it is a function.
pub(crate) fn letter<'t, 'a>(rest: Tokens<'t, 'a>, letter: &str) -> Parsed<'t, 'a> {
    let function = rest.first() == Some(ROUND) && applies(letter);
    if function || names_application(rest, letter) {
        return apply(rest, letter);
    }
    Ok((rest, letter_value(letter)))
}

/// Whether a run of letters is a product: up to three lower-case letters, or up to six without a
/// vowel. Capitals are the name of a segment, longer words are names.
pub(crate) fn is_product(word: &str) -> bool {
    if !word.is_ascii() {
        return false;
    }
    if word.bytes().all(|b| b.is_ascii_uppercase()) {
        return false;
    }
    word.len() <= 3 || word.len() <= 6 && !word.bytes().any(|b| b"aeiouyAEIOUY".contains(&b))
}

/// Whether a word is a run of factors and not a name.
pub(crate) fn is_run(word: &str) -> bool {
    word.len() > 1
        && is_product(word)
        && names::function_name(word).is_none()
        && names::value(word).is_none()
        && !matches!(word, "inf" | "oo" | "Pi" | "sqrt" | "cbrt")
}

/// Splits a run of letters if a postfix or argument belongs to its last letter only: `xy^2` is x
/// times the square of y, `xf(t)` is x times f of t. Returns the letters before the last one, and
/// the last one.
pub(crate) fn split_run<'a>(input: Tokens<'_, 'a>) -> Option<(&'a str, &'a str)> {
    let Some(Kind::Word(word)) = input.first() else {
        return None;
    };
    let (head, last) = word.split_at_checked(word.len().checked_sub(1)?)?;
    let takes = match input.kind(1)? {
        Kind::Caret | Kind::Underscore | Kind::Bang | Kind::Prime => true,
        Kind::Open(Shape::End(End::Round)) => applies(last) && !input.skip(1).spaced(),
        _ => false,
    };
    (takes && is_run(word)).then_some((head, last))
}

/// A run of letters as factors, of which the first may be pi: `pir` is pi times r.
pub(crate) fn run(word: &str) -> Expr {
    match word.strip_prefix("pi") {
        Some("") => Expr::Constant(Constant::Pi),
        Some(tail) => Expr::Product(vec![Expr::Constant(Constant::Pi), letters(tail)]),
        None => letters(word),
    }
}

/// Letters as factors.
pub(crate) fn letters(word: &str) -> Expr {
    let mut factors: Vec<Expr> = (0..word.len())
        .filter_map(|at| word.get(at..=at))
        .map(letter_value)
        .collect();
    if factors.len() == 1 {
        factors.pop().unwrap_or(Expr::Ellipsis)
    } else {
        Expr::Product(factors)
    }
}

/// Parses a command.
pub(crate) fn command<'t, 'a>(input: Tokens<'t, 'a>, name: &'a str) -> Parsed<'t, 'a> {
    let rest = input.skip(1);
    match name {
        "frac" => {
            if let Some(derivative) = binder::derivative(rest) {
                return derivative;
            }
            let (rest, num) = argument(rest)?;
            let (rest, den) = argument(rest)?;
            Ok((rest, Expr::quotient(num, den)))
        }
        "binom" => {
            let (rest, n) = argument(rest)?;
            let (rest, k) = argument(rest)?;
            Ok((rest, Expr::Call(Function::Binomial, vec![n, k])))
        }
        "begin" => bracket::environment(input),
        "sum" | "prod" => binder::series(rest, name),
        "int" => binder::integral(rest),
        // An integral along a closed curve.
        "oint" => {
            let (rest, integral) = binder::integral(rest)?;
            Ok((rest, Expr::Apply("oint".into(), vec![integral])))
        }
        "lim" => binder::limit(rest),
        "overline" | "dot" | "hat" | "widehat" | "tilde" | "widetilde" | "ddot" | "overarc"
        | "wideparen" => {
            let (rest, inner) = argument(rest)?;
            let inner = letter_of(inner);
            match inner {
                Expr::Symbol(symbol) => {
                    Ok((rest, Expr::Symbol(format!("{name}{{{symbol}}}").into())))
                }
                Expr::Product(_) | Expr::Number(_) => {
                    Ok((rest, Expr::Apply(name.into(), vec![inner])))
                }
                other if name == "overline" => {
                    Ok((rest, Expr::Call(Function::Conjugate, vec![other])))
                }
                _ => no_parse(),
            }
        }
        "vec" | "overrightarrow" => {
            let (rest, inner) = argument(rest)?;
            let inner = letter_of(inner);
            match inner {
                Expr::Symbol(symbol) => Ok((rest, Expr::Symbol(format!("vec{{{symbol}}}").into()))),
                Expr::Product(_) => Ok((rest, Expr::Apply("vec".into(), vec![inner]))),
                // Only 0 is also a vector.
                Expr::Number(value) if !value.is_zero() => {
                    Ok((rest, Expr::Apply("vec".into(), vec![Expr::Number(value)])))
                }
                other => Ok((rest, other)),
            }
        }
        "overset" | "underset" | "stackrel" => {
            let (rest, _) = argument(rest)?;
            argument(rest)
        }
        "angle" | "measuredangle" | "triangle" => {
            if let Some(Kind::Word(word)) = rest.first() {
                return Ok((rest.skip(1), Expr::Symbol(format!("{name} {word}").into())));
            }
            if name == "triangle" {
                return Ok((rest, Expr::symbol(name)));
            }
            let (rest, inner) = factor(deeper(rest, rest.bars)?)?;
            Ok((rest.back_to(input), Expr::Apply(name.into(), vec![inner])))
        }
        "Pr" => letter(rest, "P"),
        // Text that is struck out has no meaning.
        "cancel" | "bcancel" | "xcancel" | "sout" | "st" => no_parse(),
        "forall" | "exists" => no_parse(),
        "neg" | "lnot" => {
            let (rest, inner) = factor(deeper(rest, rest.bars)?)?;
            Ok((rest.back_to(input), Expr::Apply("not".into(), vec![inner])))
        }
        _ => {
            // `\Delta x` is one name.
            if matches!(name, "Delta" | "nabla" | "partial")
                && let Some(Kind::Word(letter)) = rest.first()
                && letter.len() == 1
            {
                return Ok((
                    rest.skip(1),
                    Expr::Symbol(format!("{name} {letter}").into()),
                ));
            }
            if let Some(value) = names::value(name) {
                if let Expr::Symbol(symbol) = &value
                    && rest.first() == Some(ROUND)
                    && applies(symbol)
                {
                    return apply(rest, symbol);
                }
                return Ok((rest, value));
            }
            if name == "sqrt"
                || names::function_name(name).is_some()
                || name == "re"
                || name == "im"
            {
                return function(rest, name);
            }
            Ok((rest, Expr::Symbol(format!("\\{name}").into())))
        }
    }
}

/// A letter under a hat or an arrow is a variable, even `e` and `i`.
fn letter_of(inner: Expr) -> Expr {
    match inner {
        Expr::Constant(Constant::E) => Expr::symbol("e"),
        Expr::Constant(Constant::I) => Expr::symbol("i"),
        other => other,
    }
}

/// The argument of a LaTeX command: a group or one token.
pub(crate) fn argument<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let (rest, value) = atom(deeper(input, false)?)?;
    Ok((rest.back_to(input), value))
}

/// Parses the scripts and the argument of a function, after its name.
pub(crate) fn function<'t, 'a>(input: Tokens<'t, 'a>, name: &str) -> Parsed<'t, 'a> {
    let input_deep = deeper(input, input.bars)?;
    let (rest, value) = function_inside(input_deep, name)?;
    Ok((rest.back_to(input), value))
}

fn function_inside<'t, 'a>(input: Tokens<'t, 'a>, name: &str) -> Parsed<'t, 'a> {
    if name == "sqrt" || name == "cbrt" {
        return root(input, name);
    }
    let mut rest = input;
    let mut base = None;
    let mut raised = None;
    loop {
        match rest.first() {
            Some(Kind::Underscore) if base.is_none() => {
                let (after, value) = exponent(rest.skip(1))?;
                (rest, base) = (after, Some(value));
            }
            Some(Kind::Caret) if raised.is_none() => {
                let (after, value) = exponent(rest.skip(1))?;
                (rest, raised) = (after, Some(value));
            }
            _ => break,
        }
    }
    let (rest, arguments) = arguments(rest)?;
    let call = match (name, base, arguments) {
        ("log", Some(base), mut arguments) if arguments.len() == 1 => {
            arguments.push(base);
            Expr::Call(Function::Ln, arguments)
        }
        (_, Some(_), _) => return no_parse(),
        (name, None, arguments) => {
            let inverse = raised.as_ref().is_some_and(|raised| raised.is_int(-1));
            if inverse && let Some(inverse) = inverse_name(name) {
                raised = None;
                named_call(inverse, arguments)?
            } else {
                named_call(name, arguments)?
            }
        }
    };
    Ok(match raised {
        Some(raised) => (rest, Expr::power(call, raised)),
        None => (rest, call),
    })
}

fn inverse_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "sin" => "arcsin",
        "cos" => "arccos",
        "tan" => "arctan",
        "cot" => "arccot",
        "sinh" => "arsinh",
        "cosh" => "arcosh",
        "tanh" => "artanh",
        _ => return None,
    })
}

fn named_call(name: &str, mut arguments: Vec<Expr>) -> Result<Expr, nom::Err<expression::NoParse>> {
    let one = arguments.len() == 1;
    let inner = |arguments: &mut Vec<Expr>| arguments.pop().unwrap_or(Expr::Ellipsis);
    Ok(match name {
        "cis" if one => turned_by(inner(&mut arguments)),
        "exp" if one => Expr::power(Expr::Constant(Constant::E), inner(&mut arguments)),
        "log" | "lg" if one => {
            arguments.push(Expr::int(10));
            Expr::Call(Function::Ln, arguments)
        }
        "log" if arguments.len() == 2 => Expr::Call(Function::Ln, arguments),
        "coth" if one => Expr::Call(Function::Tanh, arguments).recip(),
        "sech" if one => Expr::Call(Function::Cosh, arguments).recip(),
        "csch" if one => Expr::Call(Function::Sinh, arguments).recip(),
        _ => {
            let Some(function) = names::function(name) else {
                return no_parse();
            };
            let variadic = matches!(
                function,
                Function::Gcd | Function::Lcm | Function::Min | Function::Max
            );
            if !one && !variadic {
                return no_parse();
            }
            Expr::Call(function, arguments)
        }
    })
}

/// The complex number of absolute value 1 with this argument.
pub(crate) fn turned_by(angle: Expr) -> Expr {
    let angle = Expr::Product(vec![Expr::Constant(Constant::I), angle]);
    Expr::power(Expr::Constant(Constant::E), angle)
}

/// The arguments of a function: the content of the brackets that follow, or the factors up to the
/// next function, bracket or operator.
fn arguments<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a, Vec<Expr>> {
    if let Some(Kind::Open(shape)) = input.first()
        && !matches!(shape, Shape::Floor | Shape::Ceil | Shape::Bar)
    {
        return bracket::items(input);
    }
    let negative = input.first() == Some(Kind::Minus);
    let start = if negative { input.skip(1) } else { input };
    let (mut rest, first) = factor(start)?;
    let mut factors = vec![first];
    while begins_factor(rest) && !ends_argument(rest) {
        let (after, next) = factor(rest)?;
        rest = after;
        factors.push(next);
    }
    // `sin pi/6` is the sine of pi/6.
    if rest.first() == Some(Kind::Slash)
        && let Some(Kind::Number { .. }) = rest.kind(1)
        && factors
            .iter()
            .any(|factor| matches!(factor, Expr::Constant(Constant::Pi)))
    {
        let (after, next) = factor(rest.skip(1))?;
        rest = after;
        factors.push(next.recip());
    }
    let mut all = if factors.len() == 1 {
        factors.pop().unwrap_or(Expr::Ellipsis)
    } else {
        Expr::Product(factors)
    };
    if negative {
        all = all.neg();
    }
    Ok((rest, vec![all]))
}

fn ends_argument(input: Tokens<'_, '_>) -> bool {
    match input.first() {
        Some(Kind::Command(name)) => {
            names::function_name(name).is_some() || matches!(name, "sum" | "prod" | "int" | "lim")
        }
        Some(Kind::Word(word)) => {
            names::function_name(word).is_some() || unit::begins(word) || word.len() > 3
        }
        Some(Kind::Open(Shape::Group)) => false,
        Some(Kind::Open(_) | Kind::Bar) => true,
        _ => false,
    }
}

fn root<'t, 'a>(input: Tokens<'t, 'a>, name: &str) -> Parsed<'t, 'a> {
    let mut index = Expr::int(if name == "cbrt" { 3 } else { 2 });
    let mut rest = input;
    // `\sqrt[3]{x}`; `sqrt[x]` without a group after it is the root of x.
    if rest.first() == Some(Kind::Open(Shape::End(End::Square))) {
        let (after, mut items) = bracket::items(rest)?;
        if after.first() == Some(Kind::Open(Shape::Group)) || begins_factor(after) {
            if items.len() != 1 {
                return no_parse();
            }
            index = items.pop().unwrap_or(Expr::Ellipsis);
            rest = after;
        }
    }
    let (rest, radicand) = if matches!(rest.first(), Some(Kind::Open(_))) {
        let (rest, mut items) = bracket::items(rest)?;
        if items.len() != 1 {
            return no_parse();
        }
        (rest, items.pop().unwrap_or(Expr::Ellipsis))
    } else {
        atom(rest)?
    };
    Ok((rest, Expr::power(radicand, index.recip())))
}

/// One hundredth as an exact number.
pub(crate) fn hundredth() -> Rational {
    Rational::ratio(1, 100)
}
