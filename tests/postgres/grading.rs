//! Verdicts of queries and outcomes of invalid tasks.

use serde_json::{Value, json};

use crate::postgres::fixtures::{assert_verdicts, fault, grades, node, service, task};
use crate::postgres::server::server;

const SCHEMA: &str = "create type mood as enum ('calm', 'keen');
    create table staff(id serial primary key, name varchar(20) not null, team text, pay numeric(10, 2), since date, keen bool, code char(4));
    create table teams(name text primary key, lead int references staff(id));
    create table things(id bigint primary key, share float8, small real, raw bytea, tags text[], mood mood, seen timestamptz, data jsonb,
        amount numeric, token uuid, often interval);
    create view paid as select name, pay from staff where pay is not null;
    create function doubled(x int) returns int language sql immutable as 'select 2 * x'";

const ROWS: &str = "insert into staff(name, team, pay, since, keen, code) values
        ('Ada', 'core', 90.50, '2020-02-29', true, 'a'), ('Bo', 'data', 70, '2021-01-01', false, 'b'),
        ('Cy', 'core', 88.00, '2019-07-07', null, 'c'), ('Di', null, null, '2022-12-31', true, 'd'),
        ('Ed', 'data', 70, '2021-06-01', true, 'e');
    insert into teams select team, min(id) from staff where team is not null group by team;
    insert into things values
        (9223372036854775807, 'NaN', 0.1, '\\x00ff', '{a,b}', 'keen', '2024-01-01 12:00+02', '{\"a\": [1, 2]}', 1.50,
            '00000000-0000-0000-0000-000000000001', '1 day 02:00'),
        (-1, 'Infinity', -0.0, '', '{}', 'calm', '2024-06-01 00:00+00', 'null', 12345678901234567890.5, null, '0'),
        (0, 0.1, 3.5, null, null, null, null, null, 1e-9, null, null)";

fn on_staff(gold: &str) -> Value {
    task(SCHEMA, ROWS, gold)
}

#[tokio::test]
async fn compares_results_by_their_rows() {
    let service = service().await;
    let gold = on_staff("select team, avg(pay) from staff group by team order by team");
    let cases = [
        (
            "select team, avg(pay) from staff group by team order by team",
            "correct",
        ),
        (
            "SELECT team, SUM(pay) / COUNT(pay) AS mean FROM staff GROUP BY 1 ORDER BY 1;",
            "correct",
        ),
        (
            "with s as (select * from staff) select team, avg(pay) from s group by team order by \
             team asc nulls last",
            "correct",
        ),
        (
            "select team, avg(pay) over w from staff window w as (partition by team)",
            "wrong_answer",
        ),
        (
            "select team, avg(pay) from staff group by team order by team desc",
            "wrong_answer",
        ),
        (
            "select team, max(pay) from staff group by team order by team",
            "wrong_answer",
        ),
        (
            "select avg(pay), team from staff group by team order by team",
            "wrong_answer",
        ),
        (
            "select team from staff group by team order by team",
            "wrong_answer",
        ),
        (
            "select team, avg(pay) from staff where false group by team",
            "wrong_answer",
        ),
        ("select team, avg(pay) from staf group by team", "sql_error"),
        ("select team, avg(pay) frm staff group by team", "sql_error"),
        ("selec team", "sql_error"),
        ("select 'open", "sql_error"),
        ("select 1 / 0", "sql_error"),
        ("select $1", "sql_error"),
        (
            "select team, avg(pay) from staff group by team order by team; select 1",
            "several_statements",
        ),
        ("-- nothing", "no_sql"),
        ("; ;", "no_sql"),
        ("explain select 1", "not_a_query"),
        ("show all", "not_a_query"),
    ];
    assert_verdicts(&service.node, &gold, &cases).await;
    service.node.stop().await;
}

#[tokio::test]
async fn accepts_tied_rows_in_any_order() {
    let service = service().await;
    let gold = on_staff("select name from staff where pay is not null order by pay");
    let cases = [
        (
            "select name from staff where pay is not null order by pay, name",
            "correct",
        ),
        (
            "select name from staff where pay is not null order by pay, name desc",
            "correct",
        ),
        ("table paid", "wrong_answer"),
        (
            "select name from staff where pay is not null order by name",
            "wrong_answer",
        ),
    ];
    assert_verdicts(&service.node, &gold, &cases).await;
    service.node.stop().await;
}

#[tokio::test]
async fn compares_values_by_type_and_value() {
    let service = service().await;
    let equal = [
        ("select id from things order by id", "select id::numeric from things order by id"),
        ("select share from things", "select share + 0 from things"),
        ("select 0.1::float8", "select small from things where id = 9223372036854775807"),
        ("select amount from things", "select amount * 1.000 from things"),
        ("select keen from staff", "select case when keen then 1 when not keen then 0 end from \
                                    staff"),
        ("select raw from things", "select decode(encode(raw, 'base64'), 'base64') from things"),
        ("select tags, mood from things", "select array(select unnest(tags)), mood::text from things where tags is not null
            union all select null, null"),
        ("select since from staff", "select since::text from staff"),
        ("select seen from things", "select seen at time zone 'UTC' || '+00' from things"),
        ("select data, token, often from things", "select data::text, token::text, often::text \
            from things"),
        ("select 9007199254740993::bigint", "select 9007199254740993::numeric(20, 2)"),
        ("select code from staff", "select rpad(code, 4) from staff"),
        ("select name, rank() over (order by pay desc nulls last) from staff", "select s.name, 1 + (select count(*) from staff o
            where o.pay > s.pay or s.pay is null and o.pay is not null) from staff s"),
        ("select doubled(id) from staff", "select id * 2 from staff"),
        ("select jsonb_path_query(data, '$.a[*]') from things", "select jsonb_array_elements(data -> 'a') from things
            where jsonb_typeof(data) = 'object'"),
        ("select extract(year from since), date_trunc('month', since), to_char(since, 'YYYY-MM') \
          from staff where name ~ '^[A-C]'",
            "select date_part('year', since), date_trunc('month', since), substring(since::text, 1, 7) from staff
             where name similar to '(A|B|C)%'"),
        ("select string_agg(name, ',' order by name), array_agg(id order by id), percentile_cont(0.5) within group (order by id),
            stddev(id), json_agg(name order by id) from staff",
         "select 'Ada,Bo,Cy,Di,Ed', '{1,2,3,4,5}', 3, sqrt(2.5), '[\"Ada\", \"Bo\", \"Cy\", \
          \"Di\", \"Ed\"]'"),
        ("with recursive n(i) as (values (1) union all select i + 1 from n where i < 5) select i \
          from n",
            "select * from generate_series(1, 5)"),
        ("select name from staff, lateral (select 1) one where to_tsvector('english', name) @@ \
          to_tsquery('ada')", "select 'Ada'"),
        ("values ('a')", "select 'a' where random() >= 0 and now() > '2020-01-01'"),
        ("select count(*) from staff tablesample system (100)", "select 5"),
        ("(select 1 union all select 2) except select 2", "(select 1)"),
    ];
    for (gold, prediction) in equal {
        assert_verdicts(&service.node, &on_staff(gold), &[(prediction, "correct")]).await;
    }
    let unequal = [
        (
            "select pay from staff",
            "select coalesce(pay, 0) from staff",
        ),
        (
            "select id from things order by id",
            "select id::float8::numeric from things order by id",
        ),
        (
            "select share from things",
            "select nullif(share, 'NaN') from things",
        ),
        (
            "select raw from things",
            "select encode(raw, 'hex') from things",
        ),
        ("select name from staff", "select distinct 'Ada' from staff"),
    ];
    for (gold, prediction) in unequal {
        assert_verdicts(
            &service.node,
            &on_staff(gold),
            &[(prediction, "wrong_answer")],
        )
        .await;
    }
    service.node.stop().await;
}

#[tokio::test]
async fn tasks_select_the_compared_columns_and_order() {
    let service = service().await;
    let with = |field: &str, value: Value| {
        let mut task = on_staff("select name, pay from staff");
        task[field] = value;
        task
    };
    let swapped = "select pay, name from staff";
    assert_verdicts(
        &service.node,
        &with("columns", json!("permute")),
        &[(swapped, "correct")],
    )
    .await;
    assert_verdicts(
        &service.node,
        &with("columns", json!("superset")),
        &[("select * from staff", "correct")],
    )
    .await;
    let partial = with(
        "partial",
        json!({"syntax": 0.1, "executes": 0.1, "schema": 0.2, "tokens": 0.1}),
    );
    let cases = [
        (swapped, "partial"),
        ("select name, pay from paid", "partial"),
        ("select nam, pay from staff", "partial"),
        ("drop table staff", "denied"),
    ];
    let scores: Vec<f64> = assert_verdicts(&service.node, &partial, &cases)
        .await
        .iter()
        .map(|grade| grade.score.unwrap())
        .collect();
    assert!(
        scores[0] > 0.4 && scores[0] > scores[1] && scores[1] > scores[2] && scores[2] > scores[3],
        "{scores:?}"
    );
    assert_eq!(scores[3], 0.0);
    let mut varied = on_staff("select count(*) from staff");
    varied["database"]["variants"] = json!([{"schema": SCHEMA, "rows": ""}]);
    assert_verdicts(
        &service.node,
        &varied,
        &[
            ("select 5", "wrong_answer"),
            ("select count(name) from staff", "correct"),
        ],
    )
    .await;
    service.node.stop().await;
}

#[tokio::test]
async fn rejects_invalid_tasks() {
    let service = service().await;
    let rejected = [
        (
            on_staff("select nobody from staff"),
            "column \"nobody\" does not exist",
        ),
        (
            on_staff("select name from staff where false"),
            "returns no rows",
        ),
        (
            on_staff("select name from staff limit 1"),
            "when tables are read in reverse",
        ),
        (
            on_staff("select name from staff order by pay limit 1"),
            "when tables are read in reverse",
        ),
        (
            on_staff("select name from staff where team = 'data' and pay = 70 limit 1"),
            "when tables are read in reverse",
        ),
        (
            on_staff("select string_agg(name, ',') from staff"),
            "is ambiguous",
        ),
        (
            on_staff("select pg_sleep(0)"),
            "the function `pg_sleep` is not allowed",
        ),
        (on_staff("delete from staff"), "writing is not allowed"),
        (task("create table t(a int", "", "select 1"), "syntax error"),
        (
            task("create table t(a int); select 1/0", "", "select 1"),
            "division by zero",
        ),
        (task("copy t from stdin", "", "select 1"), "does not exist"),
        (
            task("create table t(a int); copy t from stdin", "", "select 1"),
            "use `INSERT`",
        ),
        (
            task(
                "create table t(a text); copy t from program 'id'",
                "",
                "select a from t",
            ),
            "must be superuser",
        ),
        (
            task(
                "create table t(a text); copy t from '/etc/passwd'",
                "",
                "select a from t",
            ),
            "must be superuser",
        ),
        (
            task("create role other superuser", "", "select 1"),
            "must be superuser",
        ),
        (
            task("create extension dblink", "", "select 1"),
            "permission denied",
        ),
        (task("set role assay", "", "select 1"), "permission denied"),
        (
            task(
                "create table t as select pg_read_file('/etc/passwd')",
                "",
                "select 1",
            ),
            "permission denied",
        ),
    ];
    for (task, reason) in rejected {
        let grade = grades(&service.node, &task, &["select 1"]).await.remove(0);
        let fault = fault("ungradable", grade);
        assert!(fault.message.contains(reason), "{task}: {fault:?}");
    }
    service.node.stop().await;
}

#[tokio::test]
async fn fails_tasks_without_a_usable_server() {
    let server = server();
    let task = on_staff("select 1");
    let failing = [
        (String::new(), "`sql.postgres`"),
        (
            server.url_of("assay", "unshown"),
            "password authentication failed",
        ),
        (
            "postgres://assay:x@127.0.0.1:1/postgres".to_owned(),
            "refused",
        ),
    ];
    for (url, reason) in failing {
        let node = node(&url).await;
        let grade = grades(&node, &task, &["select 1"]).await.remove(0);
        let fault = fault("failed", grade);
        assert_eq!(fault.code.as_str(), "grader_unavailable");
        assert!(
            fault.message.contains(reason) && !fault.message.contains("unshown"),
            "{fault:?}"
        );
        node.stop().await;
    }
    let role = server.query(
        "postgres",
        "create role plain login password 'plain'; select 1",
    );
    assert_eq!(role, "1");
    let node = node(&server.url_of("plain", "plain")).await;
    let grade = grades(&node, &task, &["select 1"]).await.remove(0);
    let fault = fault("failed", grade);
    assert!(
        fault
            .message
            .contains("`plain` of `sql.postgres` is not a superuser"),
        "{fault:?}"
    );
    node.stop().await;
}
