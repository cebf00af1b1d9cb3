//! Chemical formulas in one notation: `H_2O`, `\mathrm{H_2O}`, `\ce{H2O}`, `H₂O`. Atoms are not
//! counted and equations are not balanced.

use super::names;
use crate::tree::Expr;

/// Longest text that is read as a formula, in bytes.
const MAX_BYTES: usize = 120;

const ELEMENTS: &str = "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni \
    Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd \
    Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U \
    Np Pu Am Cm Bk Cf Es Fm Md No Lr";

/// A formula, and whether the text can have no other meaning: `C_2` may be a name, `C2H4` and
/// `\ce{CO}` may not.
pub(crate) struct Formula {
    pub(crate) expr: Expr,
    pub(crate) certain: bool,
}

/// Reads a whole text as a chemical formula.
pub(crate) fn formula(text: &str) -> Option<Formula> {
    if text.len() > MAX_BYTES || !text.contains(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    let declared = text.contains("\\ce{");
    let wrapped = ["\\text", "\\mathrm", "\\rm", "\\mathsf"]
        .iter()
        .any(|command| text.contains(command));
    let plain = without_styles(text)?;
    // `\text{(B)}12` is an option.
    let group = plain.trim_start_matches('{');
    if !declared && matches!(group.as_bytes(), [b'(', b'A'..=b'J', b')', ..]) {
        return None;
    }
    let mut reader = Reader::new(&plain);
    reader.read()?;
    let Reader {
        written,
        atoms,
        counts,
        bare,
        ones,
        ..
    } = reader;
    let charged = written.contains('^');
    // `P_1V_1` are names with an index, and a single letter is a name.
    let measured = counts > 0 || charged;
    let is_formula =
        declared || measured && !ones && (charged || atoms > 1 || wrapped || bare == 0);
    if !is_formula
        || !declared && !charged && atoms == 1 && !wrapped && written.len() > 2 && bare > 0
    {
        return None;
    }
    if !measured {
        return Some(Formula {
            expr: Expr::Word(written.into()),
            certain: true,
        });
    }
    let certain = declared || wrapped && !ones || bare > 0 && bare == counts && atoms > 1;
    Some(Formula {
        expr: Expr::Text(format!("\\ce {written}").into()),
        certain,
    })
}

/// One notation of a formula without style commands.
pub(super) fn written(plain: &str) -> Option<String> {
    let mut reader = Reader::new(plain);
    reader.read()?;
    Some(reader.written)
}

/// The text without style commands and dollar signs; `None` if it contains blanks or other
/// commands.
pub(super) fn without_styles(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.trim().trim_matches('$').trim_end_matches('.');
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..)?;
        match c {
            '\\' => {
                let len = rest
                    .find(|c: char| !c.is_ascii_alphabetic())
                    .unwrap_or(rest.len());
                match rest.get(..len)? {
                    "ce" | "text" | "mathrm" | "rm" | "mathsf" | "textrm" | "left" | "right" => {}
                    "" if rest.starts_with(',') => rest = rest.get(1..)?,
                    _ => return None,
                }
                rest = rest.get(len..)?;
            }
            '$' => {}
            // Blanks separate words.
            c if c.is_whitespace() => return None,
            '−' => plain.push('-'),
            other => match names::script(other) {
                Some((digit, raised)) => {
                    let mark = if raised { '^' } else { '_' };
                    let goes_on = plain.ends_with(|c: char| c.is_ascii_digit())
                        && plain.contains(mark)
                        && raised;
                    if !goes_on || !raised {
                        plain.push(mark);
                    }
                    plain.push(digit);
                }
                None => plain.push(other),
            },
        }
    }
    Some(plain)
}

struct Reader<'a> {
    rest: &'a str,
    written: String,
    /// Number of element symbols.
    atoms: usize,
    /// Number of atom counts.
    counts: usize,
    /// Number of atom counts without an underscore.
    bare: usize,
    /// Whether an atom count is 1 or begins with 0.
    ones: bool,
    open: usize,
}

impl<'a> Reader<'a> {
    fn new(rest: &'a str) -> Self {
        Self {
            rest,
            written: String::new(),
            atoms: 0,
            counts: 0,
            bare: 0,
            ones: false,
            open: 0,
        }
    }

    fn skip(&mut self, len: usize) {
        self.rest = self.rest.get(len..).unwrap_or_default();
    }

    fn braces(&mut self) {
        let len = self.rest.len() - self.rest.trim_start_matches(['{', '}']).len();
        self.skip(len);
    }

    fn read(&mut self) -> Option<()> {
        let mut balance = 0i32;
        for byte in self.rest.bytes() {
            balance += match byte {
                b'{' => 1,
                b'}' => -1,
                _ => 0,
            };
            if balance < 0 {
                return None;
            }
        }
        if balance != 0 {
            return None;
        }
        loop {
            self.braces();
            let Some(c) = self.rest.chars().next() else {
                break;
            };
            match c {
                'A'..='Z' => self.element()?,
                '(' => {
                    self.skip(1);
                    self.open += 1;
                    self.written.push('(');
                }
                ')' if self.open > 0 => {
                    self.skip(1);
                    self.open -= 1;
                    self.written.push(')');
                }
                '_' => {
                    self.skip(1);
                    self.braces();
                    self.count(false)?;
                }
                '0'..='9' if self.atoms > 0 => self.count(true)?,
                '^' | '+' | '-' if self.atoms > 0 => return self.charge(),
                _ => return None,
            }
        }
        (self.atoms > 0 && self.open == 0).then_some(())
    }

    fn element(&mut self) -> Option<()> {
        let known = |symbol: &str| ELEMENTS.split(' ').any(|own| own == symbol);
        let two = self
            .rest
            .get(..2)
            .filter(|two| two.ends_with(|c: char| c.is_ascii_lowercase()));
        let symbol = match two {
            Some(two) if known(two) => two,
            Some(_) => return None,
            None => self.rest.get(..1).filter(|one| known(one))?,
        };
        self.written.push_str(symbol);
        self.atoms += 1;
        let len = symbol.len();
        self.skip(len);
        Some(())
    }

    fn count(&mut self, bare: bool) -> Option<()> {
        let len = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let digits = self
            .rest
            .get(..len)
            .filter(|digits| !digits.is_empty() && digits.len() < 4)?;
        // `SO4^2-` and `Ca2+` have a charge, not a count.
        let closes = self
            .written
            .ends_with(|c: char| c.is_ascii_alphanumeric() || c == ')');
        if !closes || self.written.ends_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.ones |= digits.starts_with('0') || digits == "1";
        self.counts += 1;
        self.bare += usize::from(bare);
        self.written.push_str(digits);
        self.skip(len);
        Some(())
    }

    /// Reads `^{2-}`, `^2-`, `^+`, or a sign at the end.
    fn charge(&mut self) -> Option<()> {
        if self.open > 0 {
            return None;
        }
        let rest: String = self
            .rest
            .chars()
            .filter(|c| !matches!(c, '{' | '}' | '^'))
            .collect();
        let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
        let sign: String = rest.chars().filter(|c| !c.is_ascii_digit()).collect();
        let fits =
            matches!(sign.as_str(), "+" | "-") && digits.len() < 2 && self.rest.starts_with('^')
                || matches!(rest.as_str(), "+" | "-");
        if !fits {
            return None;
        }
        let digits = if digits == "1" { "" } else { &digits };
        self.written.push_str(&format!("^{digits}{sign}"));
        self.rest = "";
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Option<String> {
        formula(text).map(|formula| formula.expr.to_string())
    }

    #[test]
    fn notations_of_a_formula_agree() {
        for text in [
            "H_2O",
            r"\mathrm{H_2O}",
            r"\ce{H2O}",
            "H₂O",
            r"\text{H}_2\text{O}",
            r"\mathrm{H}_{2}\mathrm{O}",
        ] {
            assert_eq!(written(text), written("H_2O"), "{text}");
            assert!(written(text).is_some(), "{text}");
        }
        for text in [r"SO_4^{2-}", r"\ce{SO4^2-}", r"\mathrm{SO_4^{2-}}", "SO₄²⁻"] {
            assert_eq!(written(text).as_deref(), Some(r#""\ce SO4^2-""#), "{text}");
        }
        assert_eq!(written(r"\text{Fe}^{2+}"), written("Fe^{2+}"));
        assert_eq!(written("Na^+"), written(r"\ce{Na+}"));
    }

    #[test]
    fn rejects_names_and_words() {
        for text in [
            "P_1V_1", "AB", "C", "x_2", "Monday", "N^2", "2H", "B2x", "Na Cl",
        ] {
            assert_eq!(written(text), None, "{text}");
        }
        assert_ne!(written("C2H4"), written("C4H2"));
    }
}
