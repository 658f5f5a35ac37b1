# Reads the stream of `deltaskip files --format arrow` from standard input with PyArrow, and that with DuckDB, and prints as
# JSON what they found.
import json
import sys

import duckdb
import pyarrow as pa

reader = pa.ipc.open_stream(sys.stdin.buffer)
files = reader.read_all()
files.validate(full=True)
kept = duckdb.sql("SELECT path FROM files WHERE verdict <> 'None' ORDER BY path").fetchall()
sums = duckdb.sql('SELECT min("id.lower"), max("id.upper"), count("id.lower"), sum(size), sum("numRecords") FROM files').fetchall()[0]
print(json.dumps({
    "columns": files.schema.names,
    "rows": files.to_pylist(),
    "kept": [path for (path,) in kept],
    "sums": [None if v is None else int(v) for v in sums],
    "metadata": {k.decode(): v.decode() for k, v in files.schema.metadata.items()},
}, default=str))
