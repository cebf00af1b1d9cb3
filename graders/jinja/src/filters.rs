//! Filters, tests, operators and methods with an output that can be larger than their input. They
//! are checked before they run and charged afterwards.

use minijinja::functions::Function;
use minijinja::value::{FunctionArgs, FunctionResult, Rest, ValueKind, ValueOrKwargs};
use minijinja::{
    Environment, Error, ErrorKind, State, UndefinedBehavior, Value, filters, functions, tests,
};
use minijinja_contrib::pycompat;

use crate::budget::{VALUE_BYTES, charge, charge_value, expect, read, size};

// The engine removes spaces from names of filters. Templates cannot refer to these: none is an
// identifier.

/// The filter that replaces the operator `~`.
pub(crate) const CONCAT: &str = "~";
/// The filter that runs before the operator `*`: returns both values in the order in which they are
/// unpacked again.
pub(crate) const BEFORE_TIMES: &str = "before*";
/// The filter that runs before operators that may convert a value to text to search for it.
pub(crate) const BEFORE_IN: &str = "before-in";
/// The filter that runs before a value is assigned to a field of a namespace.
pub(crate) const BEFORE_SET: &str = "before=";
/// The filter that charges a new value.
pub(crate) const CHARGE: &str = "charge*";

/// Adds the bounded filters, tests and functions to an environment, and removes those that expose
/// the engine's internal state.
pub(crate) fn bound(environment: &mut Environment<'static>) {
    macro_rules! bounded {
        ($($name:literal => $filter:path),* $(,)?) => {
            $(add_filter(environment, $name, $filter);)*
        };
    }
    bounded! {
        "safe" => filters::safe, "escape" => filters::escape, "e" => filters::escape,
        "lower" => filters::lower, "upper" => filters::upper, "title" => filters::title,
        "capitalize" => filters::capitalize, "replace" => filters::replace,
        "dictsort" => filters::dictsort, "items" => filters::items, "reverse" => filters::reverse,
        "trim" => filters::trim, "join" => filters::join, "split" => filters::split,
        "lines" => filters::lines, "sum" => filters::sum, "sort" => filters::sort,
        "list" => filters::list, "string" => filters::string, "slice" => filters::slice,
        "batch" => filters::batch, "indent" => filters::indent, "select" => filters::select,
        "selectattr" => filters::selectattr, "reject" => filters::reject,
        "rejectattr" => filters::rejectattr, "map" => filters::map, "groupby" => filters::groupby,
        "unique" => filters::unique, "chain" => filters::chain, "zip" => filters::zip,
        "format" => filters::format, "length" => filters::length, "count" => filters::length,
    }
    environment.remove_filter("pprint");
    environment.remove_global("debug");
    environment.add_function(
        "dict",
        wrapped("dict", Value::from_function(functions::dict)),
    );
    environment.add_function(
        "namespace",
        wrapped("namespace", Value::from_function(functions::namespace)),
    );
    environment.add_test("in", wrapped(BEFORE_IN, Value::from_function(tests::is_in)));
    environment.add_test(
        "startingwith",
        wrapped(BEFORE_IN, Value::from_function(tests::is_startingwith)),
    );
    environment.add_test(
        "endingwith",
        wrapped(BEFORE_IN, Value::from_function(tests::is_endingwith)),
    );
    environment.add_filter(CONCAT, concat);
    environment.add_filter(BEFORE_TIMES, before_times);
    environment.add_filter(BEFORE_IN, before_in);
    environment.add_filter(BEFORE_SET, before_set);
    environment.add_filter(CHARGE, |value: Value| charge_value(&value).map(|()| value));
    environment.set_unknown_method_callback(method);
}

/// Adds a filter whose results are charged to the budget of the rendering.
pub fn add_filter<F, Rv, Args>(
    environment: &mut Environment<'static>,
    name: &'static str,
    filter: F,
) where
    F: Function<Rv, Args>,
    Rv: FunctionResult,
    Args: for<'a> FunctionArgs<'a>,
{
    environment.add_filter(name, wrapped(name, Value::from_function(filter)));
}

type Arguments = Rest<ValueOrKwargs>;

/// Wraps a function so that its calls are checked and its results charged.
fn wrapped(
    name: &'static str,
    function: Value,
) -> impl Fn(&mut State<'_, '_>, Arguments) -> Result<Value, Error> + Send + Sync + 'static {
    move |state: &mut State<'_, '_>, arguments: Arguments| {
        let arguments = arguments.into_values();
        read(&arguments)?;
        before(name, &arguments)?;
        let value = function.call(state, &arguments)?;
        charge_value(&value)?;
        Ok(value)
    }
}

/// Methods of Python values, charged to the budget of the rendering.
///
/// # Errors
/// Those of the method, or if its result exceeds the budget.
pub fn method(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    let all: Vec<Value> = std::iter::once(value).chain(arguments).cloned().collect();
    read(&all)?;
    match name {
        // Here the list is the argument and the separator is the value.
        "join" if value.as_str().is_some() && all.len() == 2 => {
            before(name, &[all[1].clone(), all[0].clone()])?;
        }
        _ => before(name, &all)?,
    }
    let result = pycompat::unknown_method_callback(state, value, name, arguments)?;
    // Views of a map share its memory and are charged when something is created from them.
    if !matches!(name, "get" | "items" | "keys" | "values") {
        charge_value(&result)?;
    }
    Ok(result)
}

/// Checks a call before it runs, by its name and arguments.
fn before(name: &str, arguments: &[Value]) -> Result<(), Error> {
    let text = |at: usize| arguments.get(at).and_then(Value::as_str);
    let value_size = || arguments.first().map_or(Ok(0), size);
    match name {
        "replace" => {
            let (Some(old), Some(new)) = (text(1), text(2)) else {
                return Ok(());
            };
            let times = match text(0) {
                Some(text) => text.matches(old).count(),
                None => value_size()?.saturating_add(1),
            };
            expect(times.saturating_mul(new.len()))
        }
        "join" => {
            let Some(list) = arguments.first() else {
                return Ok(());
            };
            let between = text(1).map_or(0, str::len);
            // Each value is counted, so there are at most as many values as bytes.
            expect(size(list)?.saturating_add((size(list)? / VALUE_BYTES).saturating_mul(between)))
        }
        "indent" => {
            let lines = text(0).map_or(value_size()?, |text| text.matches('\n').count() + 1);
            expect(largest(arguments).saturating_mul(lines.max(1)))
        }
        "batch" | "slice" => expect(largest(arguments).saturating_mul(2 * VALUE_BYTES)),
        "format" => {
            let Some(form) = text(0) else { return Ok(()) };
            let fields = form.matches(['%', '{']).count().max(1);
            let values = arguments[1..]
                .iter()
                .try_fold(0_usize, |sum, value| Ok::<_, Error>(sum + size(value)?))?;
            // A width may be an argument.
            let given = if form.contains('*') || form.contains(":{") {
                largest(arguments)
            } else {
                0
            };
            expect(
                widths(form)
                    .saturating_add(given)
                    .saturating_add(values.saturating_mul(fields)),
            )
        }
        BEFORE_IN => arguments.iter().try_for_each(|value| size(value).map(drop)),
        // These convert other values to text.
        "safe" | "escape" | "e" | "lower" | "upper" | "title" | "capitalize" | "trim"
        | "string" | "lines" | "split" => value_size().map(drop),
        _ => Ok(()),
    }
}

/// The largest number among arguments and options.
fn largest(arguments: &[Value]) -> usize {
    let number = |value: &Value| match value.kind() {
        // Negative numbers are rejected by the filter.
        ValueKind::Number => value
            .as_usize()
            .or_else(|| i128::try_from(value.clone()).ok().map(|_| 0))
            .unwrap_or(usize::MAX),
        _ => 0,
    };
    let options = |value: &Value| {
        let keys = (value.kind() == ValueKind::Map)
            .then(|| value.try_iter().ok())
            .flatten();
        keys.into_iter()
            .flatten()
            .filter_map(|key| value.get_item(&key).ok())
            .map(|value| number(&value))
            .max()
            .unwrap_or(0)
    };
    arguments
        .iter()
        .map(|value| number(value).max(options(value)))
        .max()
        .unwrap_or(0)
}

/// The sum of all numbers in a format string, including widths and precisions.
fn widths(form: &str) -> usize {
    let digits = form
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty());
    digits
        .map(|digits| digits.parse().unwrap_or(usize::MAX))
        .fold(0, usize::saturating_add)
}

/// `left ~ right`.
fn concat(state: &State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
    let strict = matches!(
        state.undefined_behavior(),
        UndefinedBehavior::Strict | UndefinedBehavior::SemiStrict
    );
    if strict && (left.is_undefined() || right.is_undefined()) {
        return Err(ErrorKind::UndefinedError.into());
    }
    charge(size(left)?.saturating_add(size(right)?))?;
    Ok(Value::from(format!("{left}{right}")))
}

/// Two values in the order in which [`minijinja::machinery::Instruction::UnpackList`] pushes them.
fn pair(left: &Value, right: &Value) -> Value {
    Value::from(vec![right.clone(), left.clone()])
}

fn before_times(left: &Value, right: &Value) -> Result<Value, Error> {
    for (value, times) in [(left, right), (right, left)] {
        if matches!(
            value.kind(),
            ValueKind::String | ValueKind::Seq | ValueKind::Iterable
        ) {
            expect(size(value)?.saturating_mul(times.as_usize().unwrap_or(0)))?;
        }
    }
    Ok(pair(left, right))
}

fn before_in(left: &Value, right: &Value) -> Result<Value, Error> {
    // If one is a text, the other may be converted to text to search for it.
    for (text, value) in [(left, right), (right, left)] {
        if text.as_str().is_some() && value.as_str().is_none() {
            size(value)?;
        }
    }
    Ok(pair(left, right))
}

fn before_set(value: &Value, namespace: &Value) -> Result<Value, Error> {
    // Displaying a namespace that contains itself would not terminate.
    size(value)?;
    Ok(pair(value, namespace))
}
