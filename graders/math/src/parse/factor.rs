//! Factors: literals, names, brackets and calls, with their postfixes.

use super::apply;
use super::base;
use super::bracket;
use super::call;
use super::expression::{Parsed, deeper, no_parse, signed_factor, stack};
use super::literal;
use super::names;
use super::script::{degrees, power, subscript};
use super::token::{Kind, Shape, Tokens};
use crate::tree::{Constant, End, Expr, Function};

/// An atom with its powers, subscripts, factorials, percent and degree signs. In a run of letters
/// they belong to the last one.
pub(crate) fn factor<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let Some((head, last)) = call::split_run(input) else {
        let (rest, base) = atom(input)?;
        return postfixes(rest, base);
    };
    let rest = input.skip(1);
    let (rest, base) = if rest.first() == Some(Kind::Open(Shape::End(End::Round))) {
        apply::apply(rest, last)?
    } else {
        (rest, letter_value(last))
    };
    let (rest, last) = postfixes(rest, base)?;
    Ok((rest, Expr::Product(vec![call::run(head), last])))
}

/// The postfixes of an atom.
fn postfixes<'t, 'a>(rest: Tokens<'t, 'a>, base: Expr) -> Parsed<'t, 'a> {
    let (mut rest, mut base) = (rest, base);
    let mut first = true;
    loop {
        // Each operator adds a level to the tree.
        if !std::mem::take(&mut first)
            && matches!(
                rest.first(),
                Some(
                    Kind::Caret
                        | Kind::Underscore
                        | Kind::Bang
                        | Kind::Prime
                        | Kind::Percent
                        | Kind::Degree
                )
            )
        {
            stack(rest)?;
        }
        match rest.first() {
            Some(Kind::Caret) => {
                (rest, base) = power(rest, base)?;
                // `f^{-1}(x)`
                if let Expr::Power(pair) = &base
                    && let (Expr::Symbol(name), true) = (&pair.0, pair.1.is_int(-1))
                    && apply::applies(name)
                    && rest.first() == Some(Kind::Open(Shape::End(End::Round)))
                {
                    let name = format!("{name}^{{-1}}");
                    (rest, base) = apply::apply(rest, &name)?;
                }
            }
            Some(Kind::Underscore) => (rest, base) = subscript(rest, base)?,
            Some(Kind::Bang) if rest.kind(1) == Some(Kind::Bang) && !rest.skip(1).spaced() => {
                base = Expr::Call(Function::DoubleFactorial, vec![base]);
                rest = rest.skip(2);
            }
            Some(Kind::Bang) => {
                base = Expr::Call(Function::Factorial, vec![base]);
                rest = rest.skip(1);
            }
            Some(Kind::Prime) => {
                base = match base {
                    Expr::Symbol(name) => Expr::Symbol(format!("{name}'").into()),
                    Expr::Apply(name, arguments) => {
                        Expr::Apply(format!("{name}'").into(), arguments)
                    }
                    _ => return no_parse(),
                };
                rest = rest.skip(1);
                if let Expr::Symbol(name) = &base
                    && rest.first() == Some(Kind::Open(Shape::End(End::Round)))
                {
                    let name = name.clone();
                    (rest, base) = apply::apply(rest, &name)?;
                }
            }
            Some(Kind::Percent) => {
                base = Expr::Percent(Box::new(base));
                rest = rest.skip(1);
            }
            Some(Kind::Degree) => (rest, base) = degrees(rest.skip(1), base),
            _ => return Ok((rest, base)),
        }
    }
}

/// An atom: a literal, a name, brackets or a call.
pub(crate) fn atom<'t, 'a>(input: Tokens<'t, 'a>) -> Parsed<'t, 'a> {
    let Some(kind) = input.first() else {
        return no_parse();
    };
    match kind {
        Kind::Number { text, point } => match base::mixed_digits(input) {
            Some(numeral) => Ok(numeral),
            None => literal::with_repetend(input, text, point),
        },
        Kind::Fraction(a, b) => Ok((
            input.skip(1),
            Expr::Number(crate::number::Rational::ratio(a.into(), b.into())),
        )),
        Kind::Word(word) => call::word(input, word),
        Kind::Styled(letter) => call::letter(input.skip(1), letter),
        // `\operatorname{Var}(X)`
        Kind::Text(text)
            if input.kind(1) == Some(Kind::Open(Shape::End(End::Round)))
                && !input.skip(1).spaced()
                && text.bytes().all(|byte| byte.is_ascii_alphabetic()) =>
        {
            apply::apply(input.skip(1), text)
        }
        Kind::Text(text) => Ok((input.skip(1), Expr::Text(text.into()))),
        Kind::Ellipsis => Ok((input.skip(1), Expr::Ellipsis)),
        // `_{10}C_3` and `^{10}P_3`
        Kind::Underscore | Kind::Caret => apply::choosing(input),
        Kind::Open(_) | Kind::Bar | Kind::Close(Shape::End(End::Square)) => bracket::bracket(input),
        Kind::Currency(sign) => {
            let (rest, value) = signed_factor(deeper(input.skip(1), input.bars)?)?;
            Ok((
                rest.back_to(input),
                Expr::Quantity(Box::new(value), sign.to_string().into()),
            ))
        }
        Kind::Command(name) => call::command(input, name),
        _ => no_parse(),
    }
}

/// A single letter as a value.
pub(crate) fn letter_value(letter: &str) -> Expr {
    match letter {
        "e" => Expr::Constant(Constant::E),
        "i" => Expr::Constant(Constant::I),
        other => names::value(other)
            .filter(|_| !other.is_ascii())
            .unwrap_or_else(|| Expr::symbol(other)),
    }
}
