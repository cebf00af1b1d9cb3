//! Limits of statements and replies.

use assay_worker::query::{End, Image, Limits, ReadOrder, Reply, Request, Run};

use super::{Fixture, LIMITS, SCHEMA};

#[test]
fn enforces_limits() {
    let mut fixture = Fixture::of(SCHEMA);
    let small = Limits {
        rows: 10,
        bytes: 500,
        memory_bytes: 8 << 20,
        long_values: true,
        long_value_steps: u64::MAX,
    };
    let of =
        |fixture: &mut Fixture, sql: &str| fixture.run(sql, 100_000, small, ReadOrder::Stored).end;
    assert_eq!(of(&mut fixture, "select n from n limit 10"), End::Rows);
    assert_eq!(
        of(&mut fixture, "select n from n limit 11"),
        End::TooManyRows
    );
    assert_eq!(
        of(&mut fixture, "select hex(zeroblob(300))"),
        End::TooManyRows
    );
    assert_eq!(
        of(&mut fixture, "select count(*) from n a, n b, n c"),
        End::OutOfSteps
    );
    assert_eq!(
        of(&mut fixture, "select length(zeroblob(200000))"),
        End::TooLong
    );
    assert_eq!(
        of(&mut fixture, "select printf('%.*c', 1000000000, 'x')"),
        End::TooLong
    );
    assert_eq!(
        of(&mut fixture, "select printf('%1000000000d', 1)"),
        End::TooLong
    );
    assert_eq!(
        of(
            &mut fixture,
            "select replace(hex(zeroblob(20000)), '0', hex(zeroblob(20000)))"
        ),
        End::TooLong
    );
    assert_eq!(
        of(&mut fixture, &format!("select '{}'", "x".repeat(100_000))),
        End::TooLong
    );
    let end = of(&mut fixture, &format!("select 1{}", "+1".repeat(5_000)));
    assert!(matches!(end, End::Error(_)), "{end:?}");
    assert_eq!(
        of(&mut fixture, &format!("select max(1{})", ",1".repeat(99))),
        End::Rows
    );
    let end = of(&mut fixture, &format!("select max(1{})", ",1".repeat(100)));
    assert!(
        matches!(&end, End::Error(message) if message.contains("too many arguments")),
        "{end:?}"
    );
}

#[test]
fn limits_values_unless_the_task_needs_long_ones() {
    let mut fixture = Fixture::of(SCHEMA);
    let short = Limits {
        long_values: false,
        long_value_steps: u64::MAX,
        ..LIMITS
    };
    let mut of =
        |sql: &str, limits: Limits| fixture.run(sql, 100_000, limits, ReadOrder::Stored).end;
    assert_eq!(of("select length(hex(zeroblob(7000)))", short), End::Rows);
    assert_eq!(
        of("select length(hex(zeroblob(9000)))", short),
        End::TooLong
    );
    assert_eq!(of("select length(hex(zeroblob(9000)))", LIMITS), End::Rows);
    assert_eq!(
        of("select json_valid(hex(zeroblob(5000)))", short),
        End::TooLong
    );
    let long = "create table l(x); insert into l values (hex(zeroblob(20000)))";
    drop(fixture);
    let mut fixture = Fixture::of(long);
    assert_eq!(
        fixture
            .run(
                "select length(x || x) from l",
                10_000,
                short,
                ReadOrder::Stored
            )
            .end,
        End::TooLong
    );
    assert_eq!(
        fixture
            .run(
                "select length(x), json_valid(x) from l",
                10_000,
                short,
                ReadOrder::Stored
            )
            .end,
        End::Rows
    );
}

#[test]
fn slow_functions_are_charged() {
    let mut fixture = Fixture::of(SCHEMA);
    let slow = [
        "select max(instr(hex(zeroblob(44000)), hex(zeroblob(23000)) || '7' || n)) from n",
        "select count(replace(hex(zeroblob(44000)), hex(zeroblob(23000)) || '7', n)) from n",
        "select count(*) from n where hex(zeroblob(40000)) like '%0%0%0%0%0%0%0%0%0%0%1' || n",
        "select count(*) from n where hex(zeroblob(40000)) glob '*0*0*0*0*0*0*0*0*0*0*1' || n",
        "select count(trim(hex(zeroblob(40000)) || n, hex(zeroblob(40000)))) from n",
    ];
    for sql in slow {
        assert_eq!(
            fixture.run(sql, 100_000, LIMITS, ReadOrder::Stored).end,
            End::OutOfSteps,
            "{sql}"
        );
    }
}

#[test]
fn a_reply_respects_its_byte_limit() {
    let mut fixture = Fixture::of(SCHEMA);
    let (large, small) = ("select n, hex(zeroblob(100)) from n", "select 1");
    let size = fixture.query(large).bytes();
    let mut runs = |statements: [&str; 2], reply_bytes: u64| {
        let image = Image {
            hash: [1; 32],
            bytes: Some(fixture.image.clone()),
        };
        let on = vec![(image, 2_000_000); 3];
        let statements = statements.map(str::to_owned).to_vec();
        fixture.databases.reply(&Request::Run(Run {
            statements,
            on,
            limits: LIMITS,
            order: ReadOrder::Stored,
            reply_bytes,
        }))
    };
    let counts = |reply: Reply| match reply {
        Reply::Ran(ran) => {
            assert!(ran.iter().flatten().all(|ran| ran.end == End::Rows));
            ran.iter().map(Vec::len).collect::<Vec<_>>()
        }
        other => panic!("not run: {other:?}"),
    };
    assert_eq!(counts(runs([large, small], u64::MAX)), [3, 3]);
    assert_eq!(counts(runs([large, small], 4 * size)), [3, 3]);
    assert_eq!(
        counts(runs([large, small], 3 * size)),
        [3],
        "another statement does not fit"
    );
    assert_eq!(
        counts(runs([large, small], 3 * size - 1)),
        [2],
        "the last database does not fit"
    );
    assert_eq!(
        counts(runs([small, large], 2 * size)),
        [3, 1],
        "the last databases of the second statement do not fit"
    );
    assert_eq!(counts(runs([large, small], size)), [1]);
    match runs([large, small], size - 1) {
        Reply::TooLarge { bytes } => assert_eq!(bytes, size),
        other => panic!("{other:?} exceeds the limit"),
    }
}

#[test]
fn long_values_and_json_have_fewer_steps() {
    let mut fixture = Fixture::of(SCHEMA);
    let limits = Limits {
        long_values: false,
        long_value_steps: 10_000,
        ..LIMITS
    };
    let mut of = |from: &str, value: &str| {
        let sql = format!(
            "with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000) select \
             count({value}) from {from}"
        );
        let ran = fixture.run(&sql, 1_000_000, limits, ReadOrder::Stored);
        (ran.end, ran.steps > 10_000)
    };
    assert_eq!(of("c", "hex(zeroblob(400))"), (End::Rows, true));
    for value in ["hex(zeroblob(600))", "json_array(x)"] {
        assert_eq!(of("c", value), (End::OutOfSteps, false), "{value}");
        assert_eq!(of("(select 1 as x)", value).0, End::Rows, "{value}");
    }
}
