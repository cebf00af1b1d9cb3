"""Hostile queries, golds and databases for `sql`."""

from inputs import draw, graded

SCHEMA = "create table t(a integer primary key, b text); create table u(a integer, b real, c blob)"
ROWS = "insert into t values (1, 'x'), (2, 'y'), (3, null); insert into u values (1, 2.5, x'00')"
COUNTER = "with recursive n(i) as (select 1 union all select i + 1 from n {}) "


def query(name, text, gold="select a from t", rows=ROWS, schema=SCHEMA, **options):
    database = {"schema": schema, "rows": rows}
    if "variants" in options:
        database["variants"] = options.pop("variants")
    task = {"type": "sql", "dialect": "sqlite", "gold": gold, "database": database, **options}
    return graded(name, task, f"```sql\n{text}\n```")


def endless(rng):
    what = rng.choice(["count(*)", "sum(i)", "group_concat(i)", "max(hex(i))", "i"])
    return query(f"endless {what}", COUNTER.format("") + f"select {what} from n")


def recursion(rng):
    size = rng.choice([10, 1000, 10**6])
    where = f"select '{'x' * size}' union all select x || x from n"
    return query(
        f"recursion that doubles {size} bytes",
        f"with recursive n(x) as ({where}) select length(x) from n",
    )


def cross_join(rng):
    tables = rng.choice([4, 12, 60, 70])
    text = ", ".join(f"t t{i}" for i in range(tables))
    return query(f"cross join of {tables} tables", f"select count(*) from {text}")


def chained(rng):
    depth = rng.choice([5, 20, 60])
    parts = [f"c{i + 1} as (select * from c{i} union all select * from c{i})" for i in range(depth)]
    return query(
        f"{depth} chained expressions",
        f"with c0 as (select a from t), {', '.join(parts)} select count(*) from c{depth}",
    )


def views(rng):
    depth = rng.choice([5, 15, 40])
    schema = f"{SCHEMA}; create view v0 as select a from t"
    for i in range(depth):
        schema += f"; create view v{i + 1} as select x.a from v{i} x, v{i} y"
    return query(f"{depth} views of views", f"select count(*) from v{depth}", schema=schema)


def value(rng):
    text = rng.choice([
        "zeroblob(1000000000)", "printf('%1000000000d', 1)", "hex(zeroblob(100000000))",
        "replace(hex(zeroblob(8000)), '00', hex(zeroblob(8000)))", "printf('%.*c', 1000000000, 'x')",
        "json_array(zeroblob(10))", "group_concat(hex(randomblob(7000)))",
    ])  # fmt: skip
    return query(f"value {text[:30]}", f"select {text} from t, t b, t c, t d, t e, t f, t g, t h")


def expression(rng):
    depth, operator = rng.choice([50, 900, 20_000]), rng.choice(["+", "||", "and", "like"])
    return query(
        f"{depth} times {operator}", "select " + f" {operator} ".join(["a"] * depth) + " from t"
    )


def nesting(rng):
    depth = rng.choice([50, 500, 10_000])
    unit, end = rng.choice(
        [
            ("(", ")"),
            ("(select ", ")"),
            ("not ", ""),
            ("-(", ")"),
            ("case when 1 then ", " end"),
            ("abs(", ")"),
        ]
    )
    return query(f"{depth} times {unit.strip()}", f"select {unit * depth}1{end * depth} from t")


def selects(rng):
    depth = rng.choice([20, 200, 5000])
    return query(
        f"{depth} nested selects", "select * from (" * depth + "select a from t" + ")" * depth
    )


def unions(rng):
    count = rng.choice([50, 500, 4000])
    return query(f"union of {count}", " union ".join(f"select {i}" for i in range(count)))


def columns(rng):
    count = rng.choice([500, 2000, 9000])
    gold = "select " + ", ".join(f"a + {i}" for i in range(min(count, 900))) + " from t"
    text = "select " + ", ".join(f"a + {i}" for i in reversed(range(count))) + " from t"
    return query(
        f"{count} columns in another order", text, gold, columns=rng.choice(["permute", "superset"])
    )


def same_columns(rng):
    count = rng.choice([10, 40, 200])
    gold = f"with recursive n(i) as (select 1 union all select i + 1 from n where i < 500) select {', '.join(f'i % {k % 3 + 2}' for k in range(count))} from n"
    text = gold.replace("i % 2", "(i + 1) % 2", 1)
    return query(
        f"{count} columns that can hardly be distinguished",
        text,
        gold,
        columns=rng.choice(["permute", "superset"]),
    )


def pattern(rng):
    size = rng.choice([10, 1000, 40_000])
    operator = rng.choice(["like", "glob"])
    unit = {"like": "%a", "glob": "*a"}[operator]
    return query(
        f"{operator} of {size}",
        f"select count(*) from t x, t y where '{'a' * 8000}b' {operator} '{unit * size}c'",
    )


def values(rng):
    size, count = rng.choice([(100, 100), (15_000, 60), (90_000, 20)])
    rows = f"{COUNTER.format(f'where i < {count}')} insert into t select i + 9, hex(zeroblob({size // 2})) || i from n"
    return query(
        f"{count} rows of {size} bytes, joined",
        "select x.b, y.b from t x, t y",
        "select x.b, y.b from t x, t y where x.a > 0",
        rows=rows,
    )


def build(rng):
    rows = rng.choice([1000, 100_000, 10**7])
    text = f"{COUNTER.format(f'where i < {rows}')} insert into t select i, 'x' from n"
    return query(
        f"database of {rows} rows", "select count(*) from t", "select count(*) from t", rows=text
    )


def endless_build(rng):
    text = rng.choice([
        f"{COUNTER.format('')} insert into t select i, 'x' from n",
        f"{COUNTER.format('')} insert into u select i, 1, zeroblob(1000000) from n",
        "create trigger r after insert on t begin insert into t values (null, 'x'), (null, 'x'); end; pragma recursive_triggers = 1; insert into t values (1, 'x')",
        "insert into t values (1, zeroblob(1000000000))",
    ])  # fmt: skip
    return query(f"endless database {text[-30:]}", "select 1", rows=text)


def many_variants(rng):
    count = rng.choice([8, 64])
    rows = f"{COUNTER.format('where i < 20000')} insert into t select i, 'x' from n"
    return query(
        f"{count} variants", "select a from t", variants=[{"rows": rows}] * count, rows=rows
    )


def generated(rng):
    tables = rng.choice([2, 30])
    schema = ";".join(
        f"create table g{i}(a integer primary key, b text, c real)" for i in range(tables)
    )
    rows = ";".join(f"insert into g{i} values (1, 'x', 2), (2, 'y', 3)" for i in range(tables))
    return query(
        f"generated variants of {tables} tables",
        "select b from g0",
        "select b from g0 where c > 1",
        schema=schema,
        rows=rows,
        variants={"generate": 8},
    )


def large_results(rng):
    side = rng.choice([50, 190, 300])
    rows = f"{COUNTER.format(f'where i < {side}')} insert into t select i, printf('%05d', i) || '{'a' * 690}' from n"
    gold = "select x.a, y.a, x.b || y.b from t x, t y"
    limits = {"work": 10**8, "rows": 10**6, "bytes": 64_000_000}
    return query(
        f"result of {side * side} long rows", f"{gold} where 1", gold, rows=rows, limits=limits
    )


def window(rng):
    size = rng.choice([100, 3000])
    text = f"{COUNTER.format(f'where i < {size}')} select sum(i) over (order by i % 7 rows between unbounded preceding and unbounded following) from n, t"
    return query(f"window of {size} rows", text)


def sorting(rng):
    size = rng.choice([1000, 200_000])
    return query(
        f"sort of {size} rows",
        f"{COUNTER.format(f'where i < {size}')} select hex(randomblob(20)) || i from n order by 1",
    )


def json(rng):
    depth = rng.choice([100, 900, 3000])
    text = f"'{'[' * depth}{']' * depth}'"
    function = rng.choice(
        ["json({})", "json_tree({})", "json_patch({0}, {0})", "json_extract({}, '$[0][0]')"]
    )
    call = function.format(text)
    return query(
        f"{function[:10]} of depth {depth}",
        f"select count(*) from {call}" if "tree" in call else f"select {call}",
    )


def statements(rng):
    count = rng.choice([100, 20_000])
    return query(f"{count} statements", "select 1;" * count)


def text(rng):
    unit = rng.choice(
        ["/*", "--\n", "'", '"', "`", "[", ";", "(", "select ", "a.", "\0", "é", "x'", "?1 ", ":a "]
    )
    count = rng.choice([1000, 300_000])
    return query(f"{count} times {unit!r}", unit * count, partial={"syntax": 0.1, "tokens": 0.2})


def denied(rng):
    text = rng.choice([
        "attach 'file:x?mode=memory' as x", "pragma page_size = 65536", "vacuum", "drop table t",
        "select load_extension('x')", "select fts3_tokenizer('x')", "select writefile('/x', 'y')",
        "select * from pragma_table_info('t'), dbstat", "explain select 1", "begin; select 1",
    ])  # fmt: skip
    return query(text[:30], text)


def golds(rng):
    made = [f"select a + {i} from t, t x, t y, t z order by 1" for i in range(16)]
    return query("16 golds", "select a from t, t x, t y, t z order by 1 desc", made)


SHAPES = [
    endless, recursion, cross_join, chained, views, value, value, expression, nesting, nesting,
    selects, unions, columns, same_columns, pattern, values, build, endless_build, endless_build,
    many_variants, generated, large_results, window, sorting, json, statements, text, text, denied,
    golds,
]  # fmt: skip


def make(rng, count):
    return draw(SHAPES, rng, count)
