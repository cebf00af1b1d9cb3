"""Regenerates `seeds/parquet` and `cases/parquet`; needs `pip install pyarrow`. The files are small
and cover different encodings.
"""

import datetime
import decimal
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(__file__).parent / "seeds/parquet"
CASES = pathlib.Path(__file__).parent / "cases/parquet"

TEXT = {"question": ["one", "two", None], "gold": ["1", "", "3"]}
WORDS = {"word": ["prefix", "prefixes", None, "pre", ""] * 4}
NESTED = {
    "tests": [[{"in": "1", "out": [1, 2]}], [], None],
    "task": ['{"type":"math","answer":"1"}', None, "x"],
}
TYPES = {
    "flag": pa.array([True, None, False]),
    "small": pa.array([-1, 2, None], pa.int8()),
    "large": pa.array([2**63, 0, None], pa.uint64()),
    "half": pa.array([1.5, float("nan"), None], pa.float32()),
    "price": pa.array(
        [decimal.Decimal("1.50"), None, decimal.Decimal("-9.99")], pa.decimal128(9, 2)
    ),
    "day": pa.array([datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1)]),
    "time": pa.array([0, 2**60, None], pa.timestamp("us")),
    "bytes": pa.array([b"\xff\x00", b"", None]),
}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    plain = {"use_dictionary": False, "write_statistics": False, "compression": "none"}
    for name, table, options in [
        ("plain", TEXT, plain),
        ("snappy", TEXT, {"compression": "snappy"}),
        ("zstd", NESTED, {"compression": "zstd"}),
        (
            "gzip_v2",
            TEXT,
            {"compression": "gzip", "data_page_version": "2.0", "use_dictionary": False},
        ),
        ("lz4", NESTED, {"compression": "lz4", "write_statistics": False}),
        ("delta", {"n": [1, 2, 300]}, {**plain, "column_encoding": {"n": "DELTA_BINARY_PACKED"}}),
        ("delta_lengths", WORDS, {**plain, "column_encoding": {"word": "DELTA_LENGTH_BYTE_ARRAY"}}),
        (
            "delta_texts",
            WORDS,
            {**plain, "column_encoding": {"word": "DELTA_BYTE_ARRAY"}, "data_page_version": "2.0"},
        ),
        ("types", TYPES, plain),
    ]:
        # Without the Arrow schema, which is not used.
        pq.write_table(pa.table(table), FOLDER / f"{name}.parquet", store_schema=False, **options)
    write_claims()


def write_claims():
    """Writes a case: a page that claims some 2**40 lengths, for which nothing must be reserved."""
    honest = (FOLDER / "delta_lengths.parquet").read_bytes()
    # Values of a block, mini-blocks of a block, values.
    header = bytes([0x80, 0x01, 0x04, 0x10])
    assert honest.count(header) == 1
    claim = header[:3] + bytes([0xFF] * 5 + [0x1F])
    at = honest.index(header)
    CASES.mkdir(parents=True, exist_ok=True)
    (CASES / "claimed_lengths").write_bytes(honest[:at] + claim + honest[at + len(claim) :])


if __name__ == "__main__":
    main()
