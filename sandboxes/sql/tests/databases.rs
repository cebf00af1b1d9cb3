//! Databases made and asked, in this process.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failing unwrap is a failing test")]

use assay_cell::query::{Build, End, Image, Limits, Ran, Reply, Request, Rows, Run, TableRows, Value};
use assay_sqlbox::Databases;
use serde_bytes::ByteBuf;

const SCHEMA: &str = "create table t(a integer primary key, b text, c real);
    insert into t values (1, 'x', 1.5), (2, 'y', 2.5), (3, null, null);
    create table n(n integer);
    with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000) insert into n select x from c;";

fn build(databases: &mut Databases, build: Build) -> ByteBuf {
    match databases.reply(&Request::Build(build)) {
        Reply::Built(built) => built.unwrap(),
        other => panic!("not built: {other:?}"),
    }
}

#[test]
fn a_script_makes_an_image() {
    let mut databases = Databases::new().unwrap();
    let image = build(&mut databases, Build { scripts: vec![SCHEMA.to_owned()], ..Build::default() });
    assert!(image.starts_with(b"SQLite format 3"));
}
