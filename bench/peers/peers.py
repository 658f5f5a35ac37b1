"""The Python contestants: see README.md for what they are asked and answer.

Every class is a contestant, every step a method pair: prepare_STEP loads what the step may take for given and returns
nothing, STEP does the work once and returns its answer. Only STEP is timed.
"""

import json
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile
import time

DIR, STEPS, THREADS = "", {}, 1

# The leaves that the in-memory steps need, as name: path below add.stats_parsed.
LEAVES = {
    "min_id": "minValues.id", "max_id": "maxValues.id",
    "min_country": "minValues.country", "max_country": "maxValues.country",
    "min_quantity": "minValues.quantity", "min_price": "minValues.price",
    "min_user": "minValues.user", "max_user": "maxValues.user",
    "min_ts": "minValues.ts", "max_ts": "maxValues.ts",
    "nulls_amount": "nullCount.amount",
}


def checkpoint(form):
    return f"{DIR}/{form}/_delta_log/{1:020d}.checkpoint.parquet"


def leaves():
    """The leaves of the checkpoint as one flat Arrow table in memory."""
    import pyarrow.parquet as pq
    import pyarrow.compute as pc

    paths = [f"add.stats_parsed.{p}" for p in LEAVES.values()] + ["add.partitionValues_parsed.p", "add.path"]
    table = pq.ParquetFile(checkpoint("struct")).read(columns=paths)
    table = table.filter(pc.is_valid(pc.struct_field(table["add"], "path")))
    add = table["add"].combine_chunks()
    columns = {n: pc.struct_field(add, ["stats_parsed", *p.split(".")]) for n, p in LEAVES.items()}
    columns["p"] = pc.struct_field(add, ["partitionValues_parsed", "p"])
    import pyarrow

    return pyarrow.table(columns)


def moment(text):
    import datetime

    return datetime.datetime.fromisoformat(text)


class DuckDB:
    def connect(self):
        import duckdb

        c = duckdb.connect()
        c.execute(f"PRAGMA threads={THREADS}")
        c.execute("SET TimeZone='UTC'")
        return c

    def load(self):
        self.c = self.connect()
        t = leaves()  # noqa: F841, DuckDB finds it by name
        self.c.execute("CREATE TABLE f AS SELECT * FROM t")

    prepare_kernel_range = prepare_kernel_pairs = prepare_kernel_prefix = prepare_kernel_timestamp = prepare_kernel_isnull = load

    def count(self, where):
        return self.c.execute(f"SELECT count(*) FROM f WHERE {where}").fetchone()[0]

    def kernel_range(self):
        lower, upper = STEPS["range"]
        return self.count(f"min_id <= {upper} AND max_id >= {lower}")

    def kernel_pairs(self):
        lower, upper = STEPS["pair"]
        return self.count(
            "(p = 3 AND min_country <= 'DE' AND max_country >= 'DE' AND min_quantity < 100000)"
            " OR (p = 50 AND min_price < 100)"
            f" OR (p = 77 AND min_id <= {upper} AND max_id >= {lower})"
        )

    def kernel_prefix(self):
        return self.count("min_user < 'user-001' AND max_user >= 'user-000'")

    def kernel_timestamp(self):
        lower, upper = STEPS["timestamp"]
        return self.count(f"max_ts > TIMESTAMPTZ '{lower}' - INTERVAL 1 MILLISECOND AND min_ts < TIMESTAMPTZ '{upper}'")

    def kernel_isnull(self):
        return self.count("nulls_amount > 0")

    def prepare_leaves(self):
        self.c = self.connect()

    def leaves(self):
        stats = "add.stats_parsed"
        return self.c.execute(
            f"SELECT count({stats}.minValues.id + {stats}.maxValues.id + {stats}.nullCount.id + {stats}.numRecords)"
            f" FROM read_parquet('{checkpoint('struct')}')"
        ).fetchone()[0]

    def cold_struct(self):
        lower, upper = STEPS["range"]
        return self.connect().execute(
            f"SELECT count(add.path) FROM read_parquet('{checkpoint('struct')}')"
            f" WHERE add.stats_parsed.minValues.id <= {upper} AND add.stats_parsed.maxValues.id >= {lower}"
        ).fetchone()[0]

    def cold_json(self):
        lower, upper = STEPS["range"]
        return self.connect().execute(
            f"SELECT count(add.path) FROM read_parquet('{checkpoint('json')}')"
            f" WHERE (add.stats->>'$.minValues.id')::BIGINT <= {upper} AND (add.stats->>'$.maxValues.id')::BIGINT >= {lower}"
        ).fetchone()[0]

    def first_struct(self):
        lower, upper = STEPS["first"]
        return len(self.connect().execute(
            f"SELECT add.path FROM read_parquet('{checkpoint('struct')}')"
            f" WHERE add.stats_parsed.minValues.id <= {upper} AND add.stats_parsed.maxValues.id >= {lower} LIMIT 1"
        ).fetchall())

    def json_16(self):
        columns = "{" + ",".join(f'"{c}":"{t}"' for c, t in STEPS["columns"].items()) + "}"
        nulls = "{" + ",".join(f'"{c}":"BIGINT"' for c in STEPS["columns"]) + "}"
        shape = f'{{"numRecords":"BIGINT","minValues":{columns},"maxValues":{columns},"nullCount":{nulls}}}'
        log = f"{DIR}/commit/_delta_log/{1:020d}.json"
        return self.connect().execute(
            f"SELECT count(s.minValues.sequence) FROM (SELECT from_json(add.stats, '{shape}') s"
            f" FROM read_json('{log}', format='newline_delimited', columns={{add: 'STRUCT(path VARCHAR, stats VARCHAR)'}})"
            " WHERE add.path IS NOT NULL)"
        ).fetchone()[0]


class PyArrow:
    def load(self):
        import pyarrow

        pyarrow.set_cpu_count(THREADS)
        self.t = leaves()

    prepare_kernel_range = prepare_kernel_pairs = prepare_kernel_prefix = prepare_kernel_timestamp = prepare_kernel_isnull = load

    def count(self, mask):
        import pyarrow.compute as pc

        return pc.sum(mask).as_py()

    def kernel_range(self):
        import pyarrow.compute as pc

        lower, upper = STEPS["range"]
        t = self.t
        return self.count(pc.and_(pc.less_equal(t["min_id"], upper), pc.greater_equal(t["max_id"], lower)))

    def kernel_pairs(self):
        import pyarrow.compute as pc

        lower, upper = STEPS["pair"]
        t = self.t

        def every(*masks):
            out = masks[0]
            for m in masks[1:]:
                out = pc.and_(out, m)
            return out

        first = every(pc.equal(t["p"], 3), pc.less_equal(t["min_country"], "DE"), pc.greater_equal(t["max_country"], "DE"),
                      pc.less(t["min_quantity"], 100000))
        second = every(pc.equal(t["p"], 50), pc.less(t["min_price"], 100.0))
        third = every(pc.equal(t["p"], 77), pc.less_equal(t["min_id"], upper), pc.greater_equal(t["max_id"], lower))
        return self.count(pc.or_(pc.or_(first, second), third))

    def kernel_prefix(self):
        import pyarrow.compute as pc

        return self.count(pc.and_(pc.less(self.t["min_user"], "user-001"), pc.greater_equal(self.t["max_user"], "user-000")))

    def kernel_timestamp(self):
        import datetime
        import pyarrow.compute as pc

        lower, upper = map(moment, STEPS["timestamp"])
        return self.count(pc.and_(pc.greater(self.t["max_ts"], lower - datetime.timedelta(milliseconds=1)), pc.less(self.t["min_ts"], upper)))

    def kernel_isnull(self):
        import pyarrow.compute as pc

        return self.count(pc.greater(self.t["nulls_amount"], 0))

    def leaves(self):
        import pyarrow.parquet as pq

        paths = [f"add.stats_parsed.{p}" for p in ("minValues.id", "maxValues.id", "nullCount.id", "numRecords")]
        return pq.read_table(checkpoint("struct"), columns=paths, use_threads=THREADS > 1).num_rows - 2


class Polars:
    def load(self):
        import polars

        self.t = polars.from_arrow(leaves())

    prepare_kernel_range = prepare_kernel_pairs = prepare_kernel_prefix = prepare_kernel_timestamp = prepare_kernel_isnull = load

    def count(self, mask):
        return self.t.select(mask.sum()).item()

    def kernel_range(self):
        from polars import col

        lower, upper = STEPS["range"]
        return self.count((col("min_id") <= upper) & (col("max_id") >= lower))

    def kernel_pairs(self):
        from polars import col

        lower, upper = STEPS["pair"]
        return self.count(
            ((col("p") == 3) & (col("min_country") <= "DE") & (col("max_country") >= "DE") & (col("min_quantity") < 100000))
            | ((col("p") == 50) & (col("min_price") < 100))
            | ((col("p") == 77) & (col("min_id") <= upper) & (col("max_id") >= lower))
        )

    def kernel_prefix(self):
        from polars import col

        return self.count((col("min_user") < "user-001") & (col("max_user") >= "user-000"))

    def kernel_timestamp(self):
        import datetime
        from polars import col

        lower, upper = map(moment, STEPS["timestamp"])
        return self.count((col("max_ts") > lower - datetime.timedelta(milliseconds=1)) & (col("min_ts") < upper))

    def kernel_isnull(self):
        from polars import col

        return self.count(col("nulls_amount") > 0)

    def cold_struct(self):
        import polars

        lower, upper = STEPS["range"]
        stats = polars.col("add").struct.field("stats_parsed")
        return (
            polars.scan_parquet(checkpoint("struct"))
            .select(polars.col("add").struct.field("path"),
                    stats.struct.field("minValues").struct.field("id").alias("lower"),
                    stats.struct.field("maxValues").struct.field("id").alias("upper"))
            .filter((polars.col("lower") <= upper) & (polars.col("upper") >= lower))
            .select(polars.len()).collect().item()
        )


class DeltaRS:
    def files(self, form, bounds):
        import pyarrow.compute as pc
        import pyarrow
        from deltalake import DeltaTable

        lower, upper = bounds
        adds = pyarrow.table(DeltaTable(f"{DIR}/{form}").get_add_actions(flatten=True))
        return pc.sum(pc.and_(pc.less_equal(adds["min.id"], upper), pc.greater_equal(adds["max.id"], lower))).as_py()

    def cold_struct(self):
        return self.files("struct", STEPS["range"])

    def cold_json(self):
        return self.files("json", STEPS["range"])

    def commit(self):
        return self.files("commit", STEPS["in_commit"])

    def prepare_check_cold(self):
        from deltalake import DeltaTable

        self.t = DeltaTable(f"{DIR}/winners", version=0)

    def check_cold(self):
        """Commits an append that was read at version 0: every commit since is read and checked."""
        from deltalake.transaction import AddAction

        add = AddAction("new.parquet", 1, {}, 0, True, "{}")
        self.t.create_write_transaction([add], "append", self.t.schema(), [])
        last = max(pathlib.Path(f"{DIR}/winners/_delta_log").glob("*.json"))
        version = int(last.stem)
        last.unlink()
        self.prepare_check_cold()
        return version - 1

    def prepare_append_1(self):
        self.table = new_table()

    def append_1(self):
        return append(self.table, STEPS["appends"])

    def prepare_append_8(self):
        self.table = new_table()

    def append_8(self):
        """Eight processes; what is timed begins when all of them are ready."""
        spawn = multiprocessing.get_context("spawn")
        barrier = spawn.Barrier(9)
        workers = [spawn.Process(target=appender, args=(barrier, self.table, STEPS["appends"] // 8)) for _ in range(8)]
        for w in workers:
            w.start()
        barrier.wait()
        self.start = time.perf_counter()
        for w in workers:
            w.join()
        if any(w.exitcode for w in workers):
            raise RuntimeError("a process could not append")
        return STEPS["appends"] // 8 * 8


def new_table():
    import pyarrow
    from deltalake import write_deltalake

    table = tempfile.mkdtemp(dir=DIR, prefix="append-")
    write_deltalake(table, pyarrow.table({"id": [0]}))
    return table


def append(table, n):
    import pyarrow
    from deltalake import CommitProperties, write_deltalake

    row = pyarrow.table({"id": [1]})
    for _ in range(n):
        write_deltalake(table, row, mode="append", commit_properties=CommitProperties(max_commit_retries=1000))
    return n


def appender(barrier, table, n):
    import pyarrow  # noqa: F401
    import deltalake  # noqa: F401

    barrier.wait()
    append(table, n)


class CRoaring:
    def load(self, name):
        base = pathlib.Path(DIR) / name
        self.blobs = [(base / n).read_bytes() for n in ("a", "b")]

    def prepare_clash_random(self):
        self.load("random")

    def prepare_clash_runs(self):
        self.load("runs")

    def clash(self):
        from pyroaring import BitMap

        a, b = map(BitMap.deserialize, self.blobs)
        return a.intersection_cardinality(b)

    clash_random = clash_runs = clash


def main():
    global DIR, STEPS, THREADS
    name, DIR, THREADS = sys.argv[1], sys.argv[2], int(sys.argv[3])
    STEPS = json.loads(pathlib.Path(DIR, "steps.json").read_text())
    contestant = {"duckdb": DuckDB, "pyarrow": PyArrow, "polars": Polars, "delta-rs": DeltaRS, "croaring": CRoaring}[name]()
    for line in sys.stdin:
        verb, step = line.strip().split(" ", 1)
        method = step.replace(" ", "_")
        reply = {}
        try:
            run = getattr(contestant, method, None)
            if run is None:
                reply = {"unsupported": True}
            elif verb == "prepare":
                getattr(contestant, "prepare_" + method, lambda: None)()
            else:
                contestant.start = time.perf_counter()
                answer = run()
                reply = {"seconds": time.perf_counter() - contestant.start, "answer": int(answer)}
        except Exception as e:  # whatever it is: the line must be answered
            reply = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
