//! Templates of functions: description, source and result.

use serde_json::{Value, json};

use crate::rank::Rank;

/// Type of the argument of a function.
#[derive(Debug, Clone, Copy)]
pub(super) enum ArgumentKind {
    Number,
    List,
}

/// An argument of a call.
#[derive(Debug)]
pub(super) enum Argument {
    Number(i64),
    List(Vec<i64>),
}

impl Argument {
    pub(super) fn json(&self) -> Value {
        match self {
            Self::Number(x) => json!(x),
            Self::List(x) => json!(x),
        }
    }

    fn number(&self) -> i64 {
        match self {
            Self::Number(x) => *x,
            Self::List(x) => x.iter().sum(),
        }
    }

    fn list(&self) -> &[i64] {
        match self {
            Self::Number(x) => std::slice::from_ref(x),
            Self::List(x) => x,
        }
    }
}

/// The range of a number in a template.
#[derive(Debug)]
pub(super) struct Numbers {
    least: i64,
    count: u64,
}

impl Numbers {
    const fn new(least: i64, count: u64) -> Self {
        Self { least, count }
    }

    pub(super) fn choose(&self, choices: &mut Rank) -> i64 {
        self.least + choices.number(self.count)
    }
}

/// A template of functions. In its texts, `{a}` and `{b}` are placeholders of its numbers.
pub(super) struct Template {
    pub(super) argument_kind: ArgumentKind,
    pub(super) description: &'static str,
    pub(super) code: &'static str,
    pub(super) a: Numbers,
    pub(super) b: Numbers,
    pub(super) value: fn(i64, i64, &Argument) -> Value,
}

impl Template {
    pub(super) fn size(&self) -> u64 {
        self.a.count * self.b.count
    }
}

fn within(a: i64, b: i64, x: &Argument) -> impl Iterator<Item = i64> {
    x.list()
        .iter()
        .copied()
        .filter(move |i| (a..=b).contains(i))
}

/// The first `a` items and then the last `b`, with the semantics of Python slices: all items if
/// there are fewer.
fn ends(a: i64, b: i64, x: &Argument) -> Value {
    let list = x.list();
    let count = |n: i64| usize::try_from(n).unwrap_or_default().min(list.len());
    let first = list.iter().take(count(a));
    json!(
        first
            .chain(list.iter().skip(list.len() - count(b)))
            .collect::<Vec<_>>()
    )
}

/// The ranges exclude numbers that yield equal functions: a sum of items from 0 equals one from 1.
pub(super) const TEMPLATES: [Template; 8] = [
    Template {
        argument_kind: ArgumentKind::Number,
        description: "x times {a} plus {b}",
        code: "x*{a}+{b}",
        a: Numbers::new(2, 11),
        b: Numbers::new(1, 20),
        value: |a, b, x| json!(x.number() * a + b),
    },
    Template {
        argument_kind: ArgumentKind::Number,
        description: "x but at least {a} and at most {b}",
        code: "max({a},min({b},x))",
        a: Numbers::new(0, 10),
        b: Numbers::new(10, 20),
        value: |a, b, x| json!(x.number().clamp(a, b)),
    },
    Template {
        argument_kind: ArgumentKind::Number,
        description: "x modulo {a}, plus {b}",
        code: "x%{a}+{b}",
        a: Numbers::new(2, 11),
        b: Numbers::new(1, 20),
        value: |a, b, x| json!(x.number().rem_euclid(a) + b),
    },
    Template {
        argument_kind: ArgumentKind::List,
        description: "the sum of items of x from {a} to {b}",
        code: "sum(i for i in x if {a}<=i<={b})",
        a: Numbers::new(1, 10),
        b: Numbers::new(10, 20),
        value: |a, b, x| json!(within(a, b, x).sum::<i64>()),
    },
    Template {
        argument_kind: ArgumentKind::List,
        description: "the number of items of x from {a} to {b}",
        code: "sum({a}<=i<={b} for i in x)",
        a: Numbers::new(0, 10),
        b: Numbers::new(10, 20),
        value: |a, b, x| json!(within(a, b, x).count()),
    },
    Template {
        argument_kind: ArgumentKind::List,
        description: "the list of items of x from {a} to {b}",
        code: "[i for i in x if {a}<=i<={b}]",
        a: Numbers::new(0, 10),
        b: Numbers::new(10, 20),
        value: |a, b, x| json!(within(a, b, x).collect::<Vec<_>>()),
    },
    Template {
        argument_kind: ArgumentKind::List,
        description: "each item of x times {a} plus {b}",
        code: "[i*{a}+{b} for i in x]",
        a: Numbers::new(2, 11),
        b: Numbers::new(1, 20),
        value: |a, b, x| json!(x.list().iter().map(|i| i * a + b).collect::<Vec<_>>()),
    },
    Template {
        argument_kind: ArgumentKind::List,
        description: "the first {a} items of x and then the last {b}",
        code: "x[:{a}]+x[-{b}:]",
        a: Numbers::new(1, 4),
        b: Numbers::new(1, 4),
        value: ends,
    },
];
