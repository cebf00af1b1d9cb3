//! Sessions with databases of their own.

use assay_worker::query::{Call, Called, End, Limits, Reply, Request};
use bytes::Bytes;

use super::{Fixture, LIMITS, SCHEMA};

impl Fixture {
    fn call(&mut self, image: Option<&[u8]>, script: &str) -> Called {
        self.limited_call(image, script, 1_000_000, LIMITS)
    }

    fn limited_call(
        &mut self,
        image: Option<&[u8]>,
        script: &str,
        steps: u64,
        limits: Limits,
    ) -> Called {
        let call = Call {
            image: image.map(Bytes::copy_from_slice),
            script: script.to_owned(),
            steps,
            limits,
        };
        match self.databases.reply(&Request::Call(call)) {
            Reply::Called(called) => called,
            other => panic!("not called: {other:?}"),
        }
    }
}

fn cells(called: &Called) -> Vec<String> {
    assert_eq!(called.ran.end, End::Rows);
    called
        .ran
        .rows
        .cells()
        .map(|cell| cell.to_string())
        .collect()
}

#[test]
fn a_session_changes_its_own_copy() {
    let mut fixture = Fixture::of(SCHEMA);
    let start = fixture.image.clone();
    let first = fixture.call(
        Some(&start),
        "create table u as select a from t; insert into u values (9) returning a; drop table n;",
    );
    assert_eq!(
        cells(&first),
        ["9"],
        "the rows of the last statement that has any"
    );
    let read = fixture.call(first.image.as_deref(), "select count(*), max(a) from u");
    assert_eq!(cells(&read), ["4", "9"]);
    assert_eq!(read.image, None, "reading changes nothing");
    let gone = fixture.call(first.image.as_deref(), "select * from n");
    assert!(matches!(&gone.ran.end, End::Error(message) if message.contains("no such table")));
    // The image itself, and what another session starts with, are as before.
    assert_eq!(fixture.value_of("count(*) from n"), "1000");
    assert_eq!(
        cells(&fixture.call(Some(&start), "select count(*) from n")),
        ["1000"]
    );
}

#[test]
fn a_session_starts_with_an_empty_database() {
    let mut fixture = Fixture::of(SCHEMA);
    let script = "create table r(x); insert into r values (random()), (random());";
    let first = fixture.call(None, script);
    assert_eq!(cells(&first), [""; 0]);
    assert_eq!(first, fixture.call(None, script), "the same bytes");
    let count = fixture.call(first.image.as_deref(), "select count(distinct x) from r");
    assert_eq!(cells(&count), ["2"]);
    assert_eq!(fixture.call(None, "  -- nothing").ran.end, End::Nothing);
}

#[test]
fn a_call_that_fails_has_no_effect() {
    let mut fixture = Fixture::of(SCHEMA);
    let start = fixture.image.clone();
    for (script, expected) in [
        ("delete from t; select * from missing", None),
        ("delete from t; insert into t(a) values (1), (1)", None),
        ("delete from t; select 1 union", None),
        (
            "delete from t; select count(*) from n as one, n as two, n as three",
            Some(End::OutOfSteps),
        ),
        ("delete from t; explain select 1", Some(End::NotAQuery)),
        (
            "begin; delete from t; select length(zeroblob(200000))",
            Some(End::TooLong),
        ),
    ] {
        let called = fixture.call(Some(&start), script);
        assert_eq!(called.image, None, "{script}");
        match expected {
            Some(end) => assert_eq!(called.ran.end, end, "{script}"),
            None => assert!(
                matches!(called.ran.end, End::Error(_) | End::Syntax(_)),
                "{script}: {:?}",
                called.ran.end
            ),
        }
    }
    let open = fixture.call(Some(&start), "begin; delete from t where a = 1");
    let count = fixture.call(open.image.as_deref(), "select count(*) from t");
    assert_eq!(cells(&count), ["2"], "the end of a call commits");
}

#[test]
fn a_session_cannot_leave_its_database() {
    let mut fixture = Fixture::of(SCHEMA);
    let start = fixture.image.clone();
    for script in [
        "attach '/tmp/other' as other",
        "attach ':memory:' as other",
        "pragma writable_schema = 1",
        "pragma journal_mode = wal",
        "create virtual table v using fts5(x)",
        "select load_extension('x')",
        "select readfile('/etc/passwd')",
        "select * from sqlite_dbpage",
        "update sqlite_schema set sql = 'x'",
        "vacuum into '/tmp/other'",
    ] {
        let called = fixture.call(Some(&start), script);
        assert!(
            matches!(called.ran.end, End::Denied(_) | End::Error(_)),
            "{script}: {:?}",
            called.ran.end
        );
        assert_eq!(called.image, None, "{script}");
    }
}

#[test]
fn limits_hold_for_all_statements_together() {
    let mut fixture = Fixture::of(SCHEMA);
    let start = fixture.image.clone();
    let one = fixture.call(Some(&start), "select sum(n) from n").ran.steps;
    let script = "select sum(n) from n;".repeat(10);
    let all = fixture.call(Some(&start), &script);
    assert_eq!((all.ran.end, all.ran.steps), (End::Rows, 10 * one));
    let few = fixture.limited_call(Some(&start), &script, 9 * one, LIMITS);
    assert_eq!(few.ran.end, End::OutOfSteps);
    let small = Limits {
        memory_bytes: 4 << 20,
        ..LIMITS
    };
    let grow = "insert into n select zeroblob(10000) from n";
    let grown = fixture.limited_call(Some(&start), grow, 1_000_000, small);
    assert_eq!((grown.ran.end, grown.image), (End::OutOfMemory, None));
}

#[test]
fn damaged_databases_do_not_end_the_worker() {
    let mut fixture = Fixture::of(SCHEMA);
    let start = fixture.image.clone();
    for at in (0..start.len()).step_by(start.len() / 200) {
        let mut damaged = start.clone();
        damaged[at] ^= 0x55;
        let call = Call {
            image: Some(Bytes::from(damaged.into_vec())),
            script: "insert into t(b) select n from n; select count(*) from t".to_owned(),
            steps: 1_000_000,
            limits: LIMITS,
        };
        let reply = fixture.databases.reply(&Request::Call(call));
        assert!(
            matches!(reply, Reply::Called(_) | Reply::Unable(_)),
            "byte {at}: {reply:?}"
        );
    }
}
