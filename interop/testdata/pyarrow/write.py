# Writes the predicates of this folder. Run with the Python of checkpoint/testdata/requirements.txt.
import datetime
import decimal
import pathlib

import pyarrow as pa
import pyarrow.compute as pc

here = pathlib.Path(__file__).parent
schema = pa.schema([
    ("id", pa.int64()), ("small", pa.int32()), ("nested", pa.struct([("a", pa.int64()), ("b", pa.string())])), ("site", pa.string()),
    ("at", pa.timestamp("us", "UTC")), ("day", pa.date32()), ("amount", pa.decimal128(10, 2)), ("x", pa.float64()),
])
f = pc.field
utc = datetime.timezone.utc
for name, e in {
    "and": (f("id") < 50) & (f("site") == "a"),
    "or": (f("id") < 5) | (f("id") >= 100),
    "not": ~(f("id") == 3),
    "not_equal": f("id") != 3,
    "isin": f("id").isin([1, 2, 3]),
    "not_isin": ~f("site").isin(["a", "b"]),
    "null": f("site").is_null(),
    "not_null": f("site").is_valid(),
    "timestamp": f("at") > pa.scalar(datetime.datetime(2026, 1, 1, tzinfo=utc), pa.timestamp("us", "UTC")),
    "date": f("day") <= datetime.date(2026, 1, 31),
    "decimal": f("amount") > decimal.Decimal("1.50"),
    "float": f("x") > 1.5,
    "not_float": ~(f("x") > 1.5),
    "starts_with": pc.starts_with(f("site"), "a_%"),
    "columns": f("id") < f("small"),
    "mixed": f("small") < 7,
    "arithmetic": (f("id") + 1 < 10) & (f("id") < 50),
    "nested": pc.struct_field(f("nested"), [0]) == 7,
    "flipped": pc.scalar(10) > f("id"),
}.items():
    try:
        (here / f"{name}.substrait").write_bytes(bytes(e.to_substrait(schema)))
    except Exception as x:  # what PyArrow cannot say
        print(name, x)
