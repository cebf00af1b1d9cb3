//! File formats: the same rows have the same findings in all formats, and broken files are reported
//! without a panic.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_check::findings::Severity;
use assay_check::{Dataset, Options, SourceError, write_clean};
use assay_templates::Template;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::json;

use crate::fixtures::{check_files, found, try_check_file};

/// Questions and golds. The second gold is empty; the fourth question repeats the first.
const ROWS: &[(&str, &str)] = &[
    ("one, \"two\"", "1"),
    ("two", ""),
    ("three\nlines", "3"),
    ("One, two", "1"),
];

fn options() -> Options {
    let template =
        r#"{ "task": { "type": "math", "answer": "{{ gold }}" }, "prompt": "{{ question }}" }"#;
    Options {
        template: Some(Template::from_json(template).unwrap()),
        ..Options::default()
    }
}

fn file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn parquet_file(folder: &Path) -> PathBuf {
    let path = folder.join("rows.parquet");
    let schema =
        "message rows { OPTIONAL BYTE_ARRAY question (UTF8); OPTIONAL BYTE_ARRAY gold (UTF8); }";
    let (schema, properties) = (
        parse_message_type(schema).unwrap(),
        WriterProperties::builder().build(),
    );
    let file = std::fs::File::create(&path).unwrap();
    let mut out = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    // Two row groups.
    for rows in ROWS.chunks(2) {
        let mut group = out.next_row_group().unwrap();
        for column in [
            |row: &(&str, &str)| ByteArray::from(row.0),
            |row: &(&str, &str)| ByteArray::from(row.1),
        ] {
            let values: Vec<ByteArray> = rows.iter().map(column).collect();
            let mut writer = group.next_column().unwrap().unwrap();
            writer
                .typed::<ByteArrayType>()
                .write_batch(&values, Some(&vec![1; values.len()]), None)
                .unwrap();
            writer.close().unwrap();
        }
        group.close().unwrap();
    }
    out.close().unwrap();
    path
}

fn gzip(text: &str) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text.as_bytes()).unwrap();
    out.finish().unwrap()
}

#[tokio::test]
async fn rows_of_an_array_have_the_lines_on_which_they_begin() {
    let folder = tempfile::tempdir().unwrap();
    let array = "[\n  {\"question\": \"a\",\n   \"gold\": \"1\"},\n\n  {\"gold\": \"1\", \"question\": \"a\"}]";
    let report = check_files(&[&file(folder.path(), "rows.json", array)], options()).await;
    let location = &report.findings[0].location;
    assert_eq!((location.number, location.line), (2, Some(5)), "{report:?}");
}

#[tokio::test]
async fn reports_broken_compression() {
    let folder = tempfile::tempdir().unwrap();
    let cut = &gzip(&"{\"question\":\"a\",\"gold\":\"1\"}\n".repeat(3))[..20];
    let report = check_files(&[&file(folder.path(), "rows.jsonl.gz", cut)], options()).await;
    assert!(
        found(&report)
            .iter()
            .any(|(_, code)| *code == "row-not-readable"),
        "{report:?}"
    );
    let parquet = file(folder.path(), "rows.parquet.gz", "");
    let error = try_check_file(&parquet).await.unwrap_err().to_string();
    assert!(error.contains("compressed Parquet"), "{error}");
}

#[tokio::test]
async fn writes_rows_without_errors() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = ROWS
        .iter()
        .map(|(question, gold)| {
            let task = format!("{{\"type\":\"math\",\"answer\":\"{gold}\",\"n\":1.50}}");
            format!("{{\"prompt\":{},\"task\":{task}}}\n", json!(question))
        })
        .collect();
    let path = file(folder.path(), "rows.jsonl", format!("{rows}[1]\n"));
    let options = Options {
        flag: Some(Severity::Error),
        ..Options::default()
    };
    let report = check_files(&[&path], options).await;
    let dataset = Dataset {
        name: "rows.jsonl".to_owned(),
        path,
        revision: None,
    };
    let mut out = Vec::new();
    let clean = write_clean(&[dataset], &report.flagged, &mut out).unwrap();
    let dropped = [("gold-not-parsed", 1), ("row-not-readable", 1)];
    assert_eq!((clean.written, clean.dropped), (3, dropped.into()));
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), 3);
    // The task keeps the digits of its numbers.
    assert!(
        text.lines().all(|line| line.contains("\"n\":1.50")),
        "{text}"
    );
}

#[tokio::test]
async fn all_formats_have_the_same_findings() {
    let folder = tempfile::tempdir().unwrap();
    let objects: Vec<_> = ROWS
        .iter()
        .map(|(question, gold)| json!({ "question": question, "gold": gold }))
        .collect();
    let lines: String = objects.iter().map(|object| format!("{object}\n")).collect();
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let csv: String = ROWS
        .iter()
        .map(|(question, gold)| format!("{},{}\r\n", quoted(question), quoted(gold)))
        .collect();
    let tsv: String = ROWS
        .iter()
        .map(|(question, gold)| format!("{}\t{}\n", quoted(question), quoted(gold)))
        .collect();
    let files = [
        file(folder.path(), "rows.jsonl", &lines),
        file(folder.path(), "rows.ndjson", format!("\u{feff}{lines}\n\n")),
        file(folder.path(), "lines.json", &lines),
        file(folder.path(), "rows.json", json!(objects).to_string()),
        file(
            folder.path(),
            "pretty.json",
            serde_json::to_string_pretty(&objects).unwrap(),
        ),
        parquet_file(folder.path()),
        file(folder.path(), "rows.csv", format!("question,gold\r\n{csv}")),
        file(folder.path(), "rows.tsv", format!("question\tgold\n{tsv}")),
        file(folder.path(), "packed.jsonl.gz", gzip(&lines)),
        file(
            folder.path(),
            "packed.json.zst",
            zstd::encode_all(lines.as_bytes(), 1).unwrap(),
        ),
    ];
    for path in &files {
        let report = check_files(&[path], options()).await;
        // In CSV and TSV, the second row is at line 3 and the third row has two lines.
        let is_separated = path
            .extension()
            .is_some_and(|extension| extension == "csv" || extension == "tsv");
        let numbers = if is_separated { (3, 6) } else { (2, 4) };
        let expected = [(numbers.0, "gold-not-parsed"), (numbers.1, "duplicate-row")];
        assert_eq!(found(&report), expected, "{}: {report:?}", path.display());
        assert_eq!(report.datasets[0].rows, 4, "{}", path.display());
    }
}

#[tokio::test]
async fn reports_broken_rows_and_reads_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let ok = r#"{"question":"a","gold":"1"}"#;
    let last = r#"{"question":"b","gold":"1"}"#;
    let cases: &[(&str, Vec<u8>, &[u64], u64)] = &[
        (
            "a.jsonl",
            format!("{ok}\n{{\"a\":\n[1]\n{last}").into_bytes(),
            &[2, 3],
            4,
        ),
        (
            "twice.jsonl",
            format!("{{\"a\":1,\"a\":2}}\n{last}\n").into_bytes(),
            &[1],
            2,
        ),
        (
            "bytes.jsonl",
            [b"\xff\xfe\n", last.as_bytes()].concat(),
            &[1],
            2,
        ),
        ("b.json", format!("[{ok}, 7, {last}]").into_bytes(), &[2], 3),
        (
            "cut.json",
            format!("[{ok}, {{\"question\": \"b").into_bytes(),
            &[2],
            2,
        ),
        ("c.csv", b"question,gold\na,1\nb\nc,1\n".to_vec(), &[3], 3),
        (
            "mixed.csv",
            b"question,gold\r\na,1\n\r\n\nb\nc,1\r\n\"d\n\r\n\",1\ne\n".to_vec(),
            &[5, 10],
            5,
        ),
        (
            "open.csv",
            b"gold,question\n4,one\n5,\"unclosed here\n6,three\n7,four\n".to_vec(),
            &[3],
            2,
        ),
        (
            "open.tsv",
            b"gold\tquestion\n4\tone\n5\ttwo\n\"6\tthree".to_vec(),
            &[4],
            3,
        ),
        (
            "closed.csv",
            b"\xef\xbb\xbf\"gold\",question\n4,5\" \"\"pipe\n5,\"a \"\"b\"\"\nc\"".to_vec(),
            &[],
            2,
        ),
    ];
    for (name, content, unreadable, rows) in cases {
        let report = check_files(&[&file(folder.path(), name, content)], options()).await;
        let expected: Vec<_> = unreadable
            .iter()
            .map(|number| (*number, "row-not-readable"))
            .collect();
        assert_eq!(found(&report), expected, "{name}: {report:?}");
        assert_eq!(report.datasets[0].rows, *rows, "{name}");
    }
}

#[tokio::test]
async fn positions_of_errors_are_those_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let array =
        "\u{feff}[{\"question\":\"ü\",\"gold\":\"1\"}, {\"a\": x},\n {\"a\":\n  [1,}},\n 5]";
    let lines = "\n{\"a\":\"ü\", x}\n";
    for (name, content, expected) in [
        (
            "rows.json",
            array,
            &["line 1 column 37", "line 3 column 6", "line 4 column 2"][..],
        ),
        ("rows.jsonl", lines, &["column 11"]),
    ] {
        let report = check_files(&[&file(folder.path(), name, content)], options()).await;
        let found: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| finding.code.name == "row-not-readable")
            .map(|finding| finding.message.rsplit_once(" at ").unwrap().1)
            .collect();
        assert_eq!(found, expected, "{name}: {report:?}");
    }
}

#[tokio::test]
async fn rejects_broken_files_without_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let rejected = |name: &str, content: &[u8]| {
        let path = file(folder.path(), name, content);
        assay_check::Benchmark::read(&path, None).unwrap_err()
    };
    assert!(matches!(
        rejected("rows.txt", b"{}"),
        SourceError::Format(_)
    ));
    assert!(matches!(
        rejected("rows.json", b"42"),
        SourceError::SyntaxError { .. }
    ));
    assert!(matches!(
        rejected("rows.csv", b"a,a\n1,2\n"),
        SourceError::SyntaxError { .. }
    ));
    assert!(
        rejected("rows.csv", b"a,\"b\n1,2\n")
            .to_string()
            .contains("at line 1 is never closed")
    );
    assert!(matches!(
        rejected("rows.json", b"[ ]"),
        SourceError::Empty(_)
    ));
    let error = rejected("rows.jsonl", b"{\"a\":\"b\"}\n{\n");
    assert!(matches!(error, SourceError::Row { location, .. } if location.number == 2));
    assert!(matches!(
        rejected("rows.jsonl", b"{\"a\":1}\n"),
        SourceError::NoPrompt { .. }
    ));
    let template =
        Template::from_json(r#"{ "task": { "type": "math" }, "prompt": "{{ nowhere }}" }"#)
            .unwrap();
    let rows = file(folder.path(), "rows.jsonl", "{\"question\":\"what\"}\n");
    let error = assay_check::Benchmark::read(&rows, Some(&template))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("rows.jsonl") && error.contains("nowhere"),
        "{error}"
    );
    std::fs::create_dir(folder.path().join("folder.jsonl")).unwrap();
    let error =
        assay_check::Benchmark::read(&folder.path().join("folder.jsonl"), None).unwrap_err();
    assert!(matches!(error, SourceError::Folder(_)), "{error}");
    assert!(matches!(
        rejected("rows.parquet", b"PAR1"),
        SourceError::SyntaxError { .. }
    ));
    let whole = std::fs::read(parquet_file(folder.path())).unwrap();
    for at in 0..whole.len() {
        let mut broken = whole.clone();
        broken[at] ^= 0x5a;
        let path = file(folder.path(), "broken.parquet", &broken);
        // The file is rejected, or read up to the broken row; neither may panic.
        let _ = assay_check::Benchmark::read(&path, None);
    }
}

#[tokio::test]
async fn rejects_a_dataset_without_rows() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("rows.jsonl", "\n\n"),
        ("rows.json", "[ ]"),
        ("rows.csv", "question,gold\n"),
    ] {
        let path = file(folder.path(), name, content);
        let error = try_check_file(&path).await.unwrap_err().to_string();
        assert_eq!(error, format!("`{name}` has no rows"));
    }
}
