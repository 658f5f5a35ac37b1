"""Reads checkpoints back with PyArrow, DuckDB and delta-rs, and compares each with what it should hold.

Standard input: a line of JSON for each table: {"dir", "original", "files": [names of parquet files], "adds": [{"path",
"partitionValues", "size", "stats", "deletionVector"}]}. Differences go to standard error, and make the exit code 1.
Standard output: for each reader how many tables, adds and values were compared, and how many tables it refuses in their
original form already.
"""
import collections
import datetime
import decimal
import json
import math
import sys
import urllib.parse

import deltalake
import duckdb
import pyarrow
import pyarrow.parquet

counts = collections.defaultdict(collections.Counter)
failures = 0


def fail(reader, table, *what):
    global failures
    failures += 1
    if failures < 50:
        print(reader, table["dir"], *what, file=sys.stderr)


def instant(text, utc):
    t = datetime.datetime.fromisoformat(text)
    if utc and t.tzinfo is None:
        t = t.replace(tzinfo=datetime.timezone.utc)
    return t


def same(typed, text, quoted=True):
    """Says whether a typed value is what a text says. quoted is False for a JSON number or literal."""
    if isinstance(typed, bool):
        return text.lower() == str(typed).lower()
    if isinstance(typed, datetime.datetime):
        return instant(text, typed.tzinfo is not None) == typed
    if isinstance(typed, datetime.date):
        return text[:10] == typed.isoformat()
    if isinstance(typed, (int, decimal.Decimal)):
        return decimal.Decimal(text) == typed
    if isinstance(typed, float):
        want = float(text)
        return want == typed or math.isnan(want) and math.isnan(typed) or math.isclose(want, typed, rel_tol=1e-6)  # of a float32
    if isinstance(typed, bytes):
        return text.encode("utf-8", "surrogateescape") == typed
    return quoted and text == typed


def compare_values(reader, table, path, where, typed, stated):
    """Compares a struct of typed values with the JSON that it was made of. What the struct cannot hold is null there."""
    if typed is None:
        return
    if isinstance(typed, dict):
        if not isinstance(stated, dict):
            if any(v is not None for v in typed.values()):
                fail(reader, table, path, where, "has", typed, "of", stated)
            return
        for key, value in typed.items():
            compare_values(reader, table, path, where + (key,), value, stated.get(key))
        return
    counts[reader]["values"] += 1
    text = stated if isinstance(stated, str) else str(stated)
    if isinstance(stated, bool):
        text = str(stated).lower()
    try:
        ok = stated is not None and same(typed, text, isinstance(stated, str))
    except (ValueError, ArithmeticError):
        ok = False
    if not ok:
        fail(reader, table, path, where, "is", repr(typed), "of", repr(stated))


def compare_adds(reader, table, got):
    """Compares what a reader found: adds as dictionaries, with stats_parsed and partitionValues_parsed where it has them."""
    want = sorted(table["adds"], key=lambda a: (a["path"], json.dumps(a["deletionVector"])))
    got = sorted(got, key=lambda a: (a["path"], json.dumps(a["deletionVector"])))
    if [a["path"] for a in want] != [a["path"] for a in got]:
        fail(reader, table, "files", [a["path"] for a in got][:5], "want", [a["path"] for a in want][:5])
        return
    counts[reader]["tables"] += 1
    for w, g in zip(want, got):
        counts[reader]["adds"] += 1
        for field in ("size", "partitionValues", "stats", "deletionVector"):
            if field in g and g[field] != w[field]:
                fail(reader, table, w["path"], field, g[field], "want", w[field])
        try:
            stated = json.loads(w["stats"], parse_float=decimal.Decimal) if w["stats"] else None
        except ValueError:
            stated = None
        compare_values(reader, table, w["path"], ("stats",), g.get("stats_parsed"), stated)
        for name, value in (g.get("partitionValues_parsed") or {}).items():
            text = w["partitionValues"].get(name)
            if value is None:
                continue
            counts[reader]["values"] += 1
            if not text or not same(value, text):
                fail(reader, table, w["path"], "partition", name, repr(value), "of", repr(text))


def vector(v):
    return {k: x for k, x in v.items() if x is not None} if v else None


def with_pyarrow(table):
    got = []
    for name in table["files"]:
        for row in pyarrow.parquet.read_table(name, columns=["add"]).column("add").to_pylist():
            if row is not None:
                row["partitionValues"] = dict(row["partitionValues"])
                row["deletionVector"] = vector(row["deletionVector"])
                got.append(row)
    compare_adds("pyarrow", table, got)


def with_duckdb(table):
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    rows = db.execute("SELECT add FROM read_parquet($1) WHERE add IS NOT NULL", [table["files"]]).fetchall()
    got = [dict(row[0]) for row in rows]
    for a in got:
        a["partitionValues"] = dict(a["partitionValues"])
        a["deletionVector"] = vector(a["deletionVector"])
    compare_adds("duckdb", table, got)


def with_deltalake(table):
    try:
        deltalake.DeltaTable(table["original"]).get_add_actions()
    except Exception as e:  # whatever it lacks, our checkpoint cannot bring
        counts["deltalake"]["refused"] += 1
        counts["deltalake"]["refused: " + str(e).split("\n")[0][:60]] += 1
        return
    actions = pyarrow.table(deltalake.DeltaTable(table["dir"]).get_add_actions(flatten=False))
    want = {urllib.parse.unquote(a["path"]): a for a in table["adds"]}
    got = []
    for row in actions.to_pylist():
        a = want.get(urllib.parse.unquote(row["path"]))
        if a is None:
            fail("deltalake", table, "has a file", row["path"])
            return
        got.append({
            "path": a["path"], "size": row["size_bytes"], "deletionVector": a["deletionVector"],
            "partitionValues_parsed": {k: v for k, v in (row.get("partition") or {}).items() if k in a["partitionValues"]},
            "stats_parsed": {
                "numRecords": row.get("num_records"), "nullCount": row.get("null_count"),
                "minValues": row.get("min"), "maxValues": row.get("max"),
            },
        })
    compare_adds("deltalake", table, got)


for line in sys.stdin:
    table = json.loads(line)
    for reader in (with_pyarrow, with_duckdb, with_deltalake):
        try:
            reader(table)
        except Exception as e:
            fail(reader.__name__, table, type(e).__name__, e)
json.dump(counts, sys.stdout)
sys.exit(failures > 0)
