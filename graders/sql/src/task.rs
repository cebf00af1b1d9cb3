//! Parses and validates a `sql` task.

use assay_core::error::{check_tolerance, invalid};
use assay_core::{Task, TaskError};
use assay_worker::query::{Limits, MAX_IMAGE};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// Maximum number of databases of a task, including the base.
const MAX_DATABASES: usize = 65;

/// Maximum number of golds of a task.
const MAX_GOLDS: usize = 16;

/// Maximum memory of a statement, in bytes.
const MAX_MEMORY: u64 = 256 << 20;

/// Default and maximum of `limits.times_reference`.
const TIMES_REFERENCE: u64 = 50;
const MAX_TIMES_REFERENCE: u64 = 10_000;

/// Largest `limits.bytes` that a task may set.
pub(crate) const MAX_RESULT_BYTES: u64 = 64_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTask {
    dialect: Dialect,
    database: RawDatabase,
    gold: RawGold,
    #[serde(default)]
    columns: Columns,
    #[serde(default)]
    order: Order,
    #[serde(default = "tolerance")]
    float_tolerance: f64,
    #[serde(default)]
    partial: Option<Partial>,
    #[serde(default)]
    limits: RawLimits,
}

fn tolerance() -> f64 {
    1e-9
}

/// The dialect of SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct RawDatabase {
    #[serde(default)]
    schema: Option<String>,
    #[serde(default)]
    rows: Option<String>,
    #[serde(default)]
    image: Option<String>,
    #[serde(default)]
    variants: Option<RawVariants>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`variants` is an array of databases or {\"generate\": n}"
)]
enum RawVariants {
    Given(Vec<RawVariant>),
    Generated(RawGenerated),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct RawGenerated {
    generate: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct RawVariant {
    #[serde(default)]
    schema: Option<String>,
    #[serde(default)]
    rows: Option<String>,
    #[serde(default)]
    image: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`gold` is a statement or an array of them")]
enum RawGold {
    One(String),
    Any(Vec<String>),
}

/// Which columns a prediction must return.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Columns {
    /// Those of the gold, in the same order.
    #[default]
    Strict,
    /// Those of the gold, in any order.
    Permute,
    /// Those of the gold and possibly others, in any order.
    Superset,
}

/// Whether the order of rows matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// It matters if the gold orders its rows, except among ties.
    #[default]
    Auto,
    /// It never matters.
    Ignore,
    /// Rows are compared one by one.
    Strict,
}

/// Weights of the parts of a wrong answer.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object of weights")]
pub(crate) struct Partial {
    pub(crate) syntax: f64,
    pub(crate) executes: f64,
    pub(crate) schema: f64,
    pub(crate) tokens: f64,
}

impl Default for Partial {
    fn default() -> Self {
        Self {
            syntax: 0.0,
            executes: 0.0,
            schema: 0.0,
            tokens: 0.0,
        }
    }
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "an object of limits")]
struct RawLimits {
    work: Option<u64>,
    times_reference: Option<u64>,
    rows: u64,
    bytes: u64,
}

impl Default for RawLimits {
    fn default() -> Self {
        Self {
            work: None,
            times_reference: None,
            rows: 100_000,
            bytes: 16_000_000,
        }
    }
}

/// The sources of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) image: Option<Vec<u8>>,
    pub(crate) scripts: Vec<String>,
}

/// Databases in addition to the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variants {
    Given(Vec<Source>),
    Generated(usize),
}

/// A parsed task.
#[derive(Debug, Clone)]
pub(crate) struct SqlTask {
    pub(crate) dialect: Dialect,
    pub(crate) base: Source,
    pub(crate) variants: Variants,
    pub(crate) golds: Vec<String>,
    pub(crate) columns: Columns,
    pub(crate) order: Order,
    pub(crate) tolerance: f64,
    pub(crate) partial: Option<Partial>,
    /// Step limit of a prediction; `None` if it depends on the steps of the golds.
    pub(crate) work: Option<u64>,
    /// The step limit of a prediction divided by the steps of the slowest gold, without `work`.
    pub(crate) times_reference: u64,
    pub(crate) limits: Limits,
}

impl SqlTask {
    pub(crate) fn read(task: &Task) -> Result<Self, TaskError> {
        let body: RawTask = task.parse()?;
        let golds = match body.gold {
            RawGold::One(gold) => vec![gold],
            RawGold::Any(golds) => golds,
        };
        if golds.is_empty() || golds.len() > MAX_GOLDS {
            return Err(invalid(
                "/gold",
                format!("`gold` must have between 1 and {MAX_GOLDS} statements"),
            ));
        }
        if let Some(empty) = golds.iter().position(|gold| gold.trim().is_empty()) {
            return Err(invalid(
                "/gold",
                format!("statement {empty} of `gold` is empty"),
            ));
        }
        check_tolerance(body.float_tolerance)?;
        if let Some(partial) = body.partial {
            check_partial(partial)?;
        }
        let RawLimits {
            work,
            times_reference,
            rows,
            bytes,
        } = body.limits;
        if !(1_000..=1_000_000_000).contains(&work.unwrap_or(1_000)) {
            return Err(invalid(
                "/limits/work",
                "`work` must be between 1000 and 1000000000 steps",
            ));
        }
        if work.is_some() && times_reference.is_some() {
            return Err(invalid(
                "/limits/times_reference",
                "set either `work` or `times_reference`",
            ));
        }
        let times_reference = times_reference.unwrap_or(TIMES_REFERENCE);
        if !(1..=MAX_TIMES_REFERENCE).contains(&times_reference) {
            return Err(invalid(
                "/limits/times_reference",
                format!("`times_reference` must be between 1 and {MAX_TIMES_REFERENCE}"),
            ));
        }
        if !(1..=1_000_000).contains(&rows) {
            return Err(invalid(
                "/limits/rows",
                "`rows` must be between 1 and 1000000",
            ));
        }
        if !(1..=MAX_RESULT_BYTES).contains(&bytes) {
            return Err(invalid(
                "/limits/bytes",
                format!("`bytes` must be between 1 and {MAX_RESULT_BYTES}"),
            ));
        }
        let RawDatabase {
            schema,
            rows: data,
            image,
            variants,
        } = body.database;
        let base = source(
            "/database",
            [schema.as_deref(), data.as_deref()],
            image.as_deref(),
        )?;
        let variants = match variants {
            None => Variants::Given(Vec::new()),
            Some(RawVariants::Generated(RawGenerated { generate })) => {
                Variants::Generated(generate)
            }
            Some(RawVariants::Given(given)) => {
                let sources = given.iter().enumerate().map(|(index, variant)| {
                    let pointer = format!("/database/variants/{index}");
                    let inherited = variant
                        .schema
                        .as_deref()
                        .or(schema.as_deref().filter(|_| variant.image.is_none()));
                    source(
                        &pointer,
                        [inherited, variant.rows.as_deref()],
                        variant.image.as_deref(),
                    )
                });
                Variants::Given(sources.collect::<Result<_, _>>()?)
            }
        };
        let count = match &variants {
            Variants::Given(sources) => sources.len(),
            Variants::Generated(count) => *count,
        };
        if count >= MAX_DATABASES {
            return Err(invalid(
                "/database/variants",
                format!("a task may have at most {} variants", MAX_DATABASES - 1),
            ));
        }
        let has_image = |source: &Source| source.image.is_some();
        let given_image =
            matches!(&variants, Variants::Given(sources) if sources.iter().any(has_image));
        if body.dialect == Dialect::Postgres && (base.image.is_some() || given_image) {
            return Err(invalid(
                "/database/image",
                "images are SQLite databases; use `schema` and `rows` for PostgreSQL",
            ));
        }
        if body.dialect == Dialect::Postgres && matches!(variants, Variants::Generated(1..)) {
            return Err(invalid(
                "/database/variants",
                "variants can be generated only for SQLite; list the variants for PostgreSQL",
            ));
        }
        Ok(Self {
            dialect: body.dialect,
            base,
            variants,
            golds,
            columns: body.columns,
            order: body.order,
            tolerance: body.float_tolerance,
            partial: body.partial,
            work,
            times_reference,
            limits: Limits {
                rows,
                bytes,
                memory_bytes: MAX_MEMORY,
                long_values: false,
                long_value_steps: u64::MAX,
            },
        })
    }

    /// Approximate size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let text = |text: &String| size_of::<String>() + text.len();
        let size = |source: &Source| {
            let scripts: usize = source.scripts.iter().map(text).sum();
            size_of::<Source>() + source.image.as_ref().map_or(0, Vec::len) + scripts
        };
        let variants: usize = match &self.variants {
            Variants::Given(sources) => sources.iter().map(size).sum(),
            Variants::Generated(_) => 0,
        };
        let golds: usize = self.golds.iter().map(text).sum();
        size(&self.base) + variants + golds
    }
}

fn source(
    pointer: &str,
    scripts: [Option<&str>; 2],
    image: Option<&str>,
) -> Result<Source, TaskError> {
    let image = image.map(|image| read_image(pointer, image)).transpose()?;
    let scripts = scripts.into_iter().flatten().map(str::to_owned).collect();
    Ok(Source { image, scripts })
}

fn read_image(pointer: &str, text: &str) -> Result<Vec<u8>, TaskError> {
    let pointer = format!("{pointer}/image");
    // Many tools break base64 into lines.
    let text: String = text.split_ascii_whitespace().collect();
    let image = STANDARD.decode(text).map_err(|error| {
        invalid(
            &pointer,
            format!("`image` must be an SQLite file in base64: {error}"),
        )
    })?;
    if !image.starts_with(b"SQLite format 3\0") {
        return Err(invalid(
            &pointer,
            "`image` must be an SQLite file in base64; its decoded bytes are not one",
        ));
    }
    if image.len() > MAX_IMAGE {
        return Err(invalid(
            &pointer,
            format!(
                "`image` has {} bytes; at most {MAX_IMAGE} are allowed",
                image.len()
            ),
        ));
    }
    Ok(image)
}

fn check_partial(partial: Partial) -> Result<(), TaskError> {
    let Partial {
        syntax,
        executes,
        schema,
        tokens,
    } = partial;
    let weights = [syntax, executes, schema, tokens];
    if weights.iter().any(|weight| !(0.0..=1.0).contains(weight)) {
        return Err(invalid(
            "/partial",
            "each weight of `partial` must be between 0 and 1",
        ));
    }
    // Sums of decimal fractions are not exact.
    if weights.iter().sum::<f64>() > 0.5 + 1e-9 {
        return Err(invalid(
            "/partial",
            "the weights of `partial` add up to more than 0.5; a wrong result may earn at most \
             half of a correct one",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rest: &str) -> Result<SqlTask, TaskError> {
        let text = format!(
            r#"{{"type":"sql","dialect":"sqlite","database":{{"schema":"create table t(a)"}},"gold":"select a from t"{rest}}}"#
        );
        SqlTask::read(&Task::from_json(&text).unwrap())
    }

    #[test]
    fn compares_strictly_by_default() {
        let task = read("").unwrap();
        assert_eq!(
            (task.columns, task.order, task.tolerance),
            (Columns::Strict, Order::Auto, 1e-9)
        );
        assert_eq!(task.limits.rows, 100_000);
        assert_eq!(task.variants, Variants::Given(Vec::new()));
    }

    #[test]
    fn rejects_partial_credit_above_half() {
        assert!(
            read(r#","partial":{"syntax":0.1,"executes":0.1,"schema":0.2,"tokens":0.1}"#).is_ok()
        );
        let error = read(r#","partial":{"syntax":0.3,"schema":0.21}"#).unwrap_err();
        assert_eq!(error.pointer, "/partial");
    }

    #[test]
    fn points_at_the_invalid_field() {
        assert_eq!(read(r#","order":"random""#).unwrap_err().pointer, "/order");
        assert_eq!(
            read(r#","limits":{"steps":5}"#).unwrap_err().pointer,
            "/limits/steps"
        );
        for limits in [
            r#"{"times_reference":0}"#,
            r#"{"times_reference":10001}"#,
            r#"{"times_reference":2,"work":1000}"#,
        ] {
            let error = read(&format!(r#","limits":{limits}"#)).unwrap_err();
            assert_eq!(error.pointer, "/limits/times_reference", "{limits}");
        }
        assert_eq!(
            read(r#","limits":{"rows":0}"#).unwrap_err().pointer,
            "/limits/rows"
        );
        assert_eq!(
            read(r#","float_tolerance":-1"#).unwrap_err().pointer,
            "/float_tolerance"
        );
    }
}
