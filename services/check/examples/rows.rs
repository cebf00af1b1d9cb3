//! Generates rows of mathematical questions: `rows FILE.jsonl|FILE.parquet COUNT [SEED]`. They have
//! the columns and lengths of GSM8K, distinct questions, golds of several kinds, and solutions. The
//! same seed generates the same rows.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use assay_base::Random;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::json;

/// Number of rows per row group.
const GROUP: usize = 100_000;

const NAMES: &[&str] = &[
    "Ada", "Bo", "Chloe", "Dov", "Edda", "Femi", "Greta", "Hiro", "Ines", "Jun", "Kofi", "Lena",
    "Mats", "Noor",
];
const THINGS: &[&str] = &[
    "apples", "bolts", "cards", "drums", "eggs", "flags", "grapes", "hooks", "inks", "jars",
    "kites", "lamps",
];
const PLACES: &[&str] = &[
    "at the market",
    "in the attic",
    "by the harbour",
    "at school",
    "in the garden",
    "on the train",
    "at home",
];

struct Problem {
    question: String,
    answer: String,
}

fn generate(random: &mut Random, number: usize) -> Problem {
    let word = |random: &mut Random, words: &[&'static str]| words[random.below(words.len())];
    let (name, other) = (word(random, NAMES), word(random, NAMES));
    let (thing, place) = (word(random, THINGS), word(random, PLACES));
    let (crates, each, more) = (
        random.between(2, 60),
        random.between(3, 90),
        random.between(1, 999),
    );
    let parts = random.between(2, 9);
    let sum = crates * each + more;
    let (ask, gold) = match random.below(20) {
        0..=15 => ("How many are there in all?".to_owned(), sum.to_string()),
        16 | 17 => (
            format!("What is a {parts}th part of all, as a fraction?"),
            format!("\\frac{{{sum}}}{{{parts}}}"),
        ),
        18 => (
            "How many hundreds is that?".to_owned(),
            format!("{}.{:02}", sum / 100, sum % 100),
        ),
        _ => (
            format!("What is the root of all of it times {parts}?"),
            format!("{parts}\\sqrt{{{sum}}}"),
        ),
    };
    let question = format!(
        "{name} keeps {thing} {place} in {crates} crates, and each crate holds {each} of them. On \
         day {number} {other} comes by with {more} more {thing}, which do not fit into any crate \
         and are put beside them. {ask}"
    );
    let product = crates * each;
    let answer = format!(
        "The crates hold {crates} * {each} = <<{crates}*{each}={product}>>{product} \
         {thing}.\nWith the {more} that {other} brought there are {product} + {more} = \
         <<{product}+{more}={sum}>>{sum} {thing}.\n#### {gold}"
    );
    Problem { question, answer }
}

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: rows FILE.jsonl|FILE.parquet COUNT [SEED]";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, count, rest @ ..] = arguments.as_slice() else {
        return Err(usage.into());
    };
    let (count, seed): (usize, u64) = (
        count.parse()?,
        rest.first().map_or(Ok(0), |seed| seed.parse())?,
    );
    let mut random = Random::new(seed);
    let rows = (0..count).map(|number| generate(&mut random, number));
    let path = Path::new(file);
    if path
        .extension()
        .is_some_and(|extension| extension == "parquet")
    {
        parquet(path, rows)
    } else {
        jsonl(path, rows)
    }
}

fn jsonl(path: &Path, rows: impl Iterator<Item = Problem>) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(File::create(path)?);
    for Problem { question, answer } in rows {
        writeln!(out, "{}", json!({ "question": question, "answer": answer }))?;
    }
    Ok(out.flush()?)
}

fn parquet(path: &Path, mut rows: impl Iterator<Item = Problem>) -> Result<(), Box<dyn Error>> {
    let schema =
        "message rows { REQUIRED BYTE_ARRAY question (UTF8); REQUIRED BYTE_ARRAY answer (UTF8); }";
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut out = SerializedFileWriter::new(
        File::create(path)?,
        Arc::new(parse_message_type(schema)?),
        Arc::new(properties),
    )?;
    loop {
        let group: Vec<Problem> = rows.by_ref().take(GROUP).collect();
        if group.is_empty() {
            break;
        }
        let columns: [fn(&Problem) -> &str; 2] = [|row| &row.question, |row| &row.answer];
        let mut writer = out.next_row_group()?;
        for column in columns {
            let values: Vec<ByteArray> = group
                .iter()
                .map(|row| ByteArray::from(column(row)))
                .collect();
            let Some(mut column) = writer.next_column()? else {
                break;
            };
            column
                .typed::<ByteArrayType>()
                .write_batch(&values, None, None)?;
            column.close()?;
        }
        writer.close()?;
    }
    out.close()?;
    Ok(())
}
