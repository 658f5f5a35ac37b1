#!/usr/bin/env python3
"""Makes random tables with Spark and asks it about random predicates. See README.md."""

import argparse
import glob
import json
import logging
import os
import random
import re
import shutil
import sys
import urllib.parse

# ---------------------------------------------------------------------------------------------------------------- values

EPOCH_MICROS = 1_577_836_800_000_000  # 2020-01-01


def quote(s):
    return "'" + s.replace("\\", "\\\\").replace("'", "\\'") + "'"


WORDS = ["", "a", "ab", "abc", "b", "B", "Zz", "zz", "é", "\u00e9a", "😀", "\uffee", "a_b", "a%b", "10", "2020-01-01", " a", "a ", "x'y", "ß"]
LONG = ["k" * 31 + "a", "k" * 32, "k" * 33 + "z", "k" * 40, "é" * 33, "a" * 31 + "😀😀", "a" * 40, "z" * 31 + "\uffee\uffee", "ab" * 20]
PATHS = ["a/b", "a=b", "a b", "100%", "ü", "a:b", "a\"b", "#x", "A", "a", "é😀", "nan", "null", "'", "\\", "[x]"]


def narrow(rng, lo, hi, n):
    """n whole numbers of a random window of lo … hi, so that files can be told apart."""
    width = rng.choice([0, 1, 5, 20, (hi - lo) // 8, hi - lo])
    a = rng.randint(lo, max(lo, hi - width))
    return [rng.randint(a, min(hi, a + width)) for _ in range(n)]


def ints(bits):
    def draw(rng, n):
        if rng.random() < 0.15:
            edge = rng.choice([-(1 << bits - 1), (1 << bits - 1) - 3])
            return [str(edge + rng.randint(0, 2)) for _ in range(n)]
        if bits == 64 and rng.random() < 0.2:
            return [str((1 << 53) + rng.randint(-2, 3)) for _ in range(n)]
        return [str(v) for v in narrow(rng, -100, 100, n)]
    return draw


def decimals(p, s):
    def draw(rng, n):
        if rng.random() < 0.25:
            top = 10 ** p - 1
            return [decimal_text(rng.choice([1, -1]) * (top - rng.randint(0, 5)), s) for _ in range(n)]
        return [decimal_text(v, s) for v in narrow(rng, -100 * 10 ** min(s, 4), 100 * 10 ** min(s, 4), n)]
    return draw


def decimal_text(v, s):
    t = str(abs(v)).rjust(s + 1, "0")
    return ("-" if v < 0 else "") + (t[:-s] + "." + t[-s:] if s else t)


def floats(rng, n):
    vs = [repr(v / rng.choice([1, 2, 8, 10])) for v in narrow(rng, -200, 200, n)]
    for i in range(n):
        if rng.random() < 0.08:
            vs[i] = rng.choice(["NaN", "-0.0", "0.0", "Infinity", "-Infinity", "1e300", "9007199254740993", "0.1", "1e-310"])
    return vs


def strings(rng, n):
    pool = rng.choice([WORDS, WORDS, LONG, WORDS + LONG, [rng.choice(WORDS)]])
    some = rng.sample(pool, min(len(pool), rng.choice([1, 2, 3, 6])))
    return [rng.choice(some) for _ in range(n)]


def days(rng, n):
    if rng.random() < 0.1:
        return [str(rng.choice([-719162, 2932896, -141428, -1, 0])) for _ in range(n)]
    return [str(18262 + v) for v in narrow(rng, -800, 800, n)]


def micros(rng, n):
    if rng.random() < 0.1:
        return [str(rng.choice([-62135596800000000, 253402300799999999, -1, 0, -1001, 999, -12219292800000000])) for _ in range(n)]
    if rng.random() < 0.3:  # within a millisecond or two, or an hour around a change of the clocks
        base = EPOCH_MICROS + rng.choice([0, 26_092_800_000_000, 7_527_600_000_000, 7_520_400_000_000])
        return [str(base + v) for v in narrow(rng, -2500, 2500, n)]
    return [str(EPOCH_MICROS + v * 1_800_000_000 + rng.choice([0, 0, 1, 999, 123456])) for v in narrow(rng, -30000, 30000, n)]


# A kind is a type: its DDL, how a text becomes a value of it in SQL, and how values are drawn.
class Kind:
    def __init__(self, ddl, sql, draw, group):
        self.ddl, self.sql, self.draw, self.group = ddl, sql, draw, group


def num(ddl, draw, group):
    return Kind(ddl, lambda v: "CAST('%s' AS %s)" % (v, ddl), draw, group)


def timestamp_sql(v):
    return "timestamp_micros(%sL)" % v


def ntz_sql(v):
    v = int(v)
    return "(TIMESTAMP_NTZ'1970-01-01 00:00:00' + INTERVAL '%s%d %d:%d:%d.%06d' DAY TO SECOND)" % (
        "-" if v < 0 else "", abs(v) // 86400_000000, abs(v) // 3600_000000 % 24, abs(v) // 60_000000 % 60, abs(v) // 1000000 % 60, abs(v) % 1000000)


KINDS = {
    "byte": num("TINYINT", ints(8), "int"),
    "short": num("SMALLINT", ints(16), "int"),
    "int": num("INT", ints(32), "int"),
    "long": num("BIGINT", ints(64), "int"),
    "dec": num("DECIMAL(10,2)", decimals(10, 2), "dec"),
    "big": num("DECIMAL(38,10)", decimals(38, 10), "dec"),
    "huge": num("DECIMAL(38,0)", decimals(38, 0), "dec"),
    "float": num("FLOAT", floats, "float"),
    "double": num("DOUBLE", floats, "float"),
    "bool": num("BOOLEAN", lambda rng, n: [rng.choice(c) for c in [rng.choice([["true"], ["false"], ["true", "false"]])] for _ in range(n)], "bool"),
    "string": Kind("STRING", quote, strings, "string"),
    "path": Kind("STRING", quote, lambda rng, n: [rng.choice(PATHS + ["", " ", "a", "b"]) for _ in range(n)], "string"),
    "binary": Kind("BINARY", lambda v: "CAST(%s AS BINARY)" % quote(v), strings, "binary"),
    "date": Kind("DATE", lambda v: "date_from_unix_date(%s)" % v, days, "date"),
    "ts": Kind("TIMESTAMP", timestamp_sql, micros, "ts"),
    "ntz": Kind("TIMESTAMP_NTZ", ntz_sql, micros, "ntz"),
    "ints": Kind("ARRAY<INT>", lambda v: "array(%s, NULL)" % v, ints(32), "other"),
    "map": Kind("MAP<STRING,INT>", lambda v: "map('k', %s)" % v, ints(32), "other"),
    "variant": Kind("VARIANT", lambda v: "parse_json('%s')" % v, lambda rng, n: [str(rng.randint(0, 9)) for _ in range(n)], "other"),
}


# A column is a name and a kind, or a name and a list of columns (a struct).
def ddl(columns, sep=" "):
    return ", ".join("`%s`%s%s" % (n, sep, "STRUCT<%s>" % ddl(k, ": ") if isinstance(k, list) else KINDS[k].ddl) for n, k in columns)


def leaves(columns, prefix=""):
    for n, k in columns:
        if isinstance(k, list):
            yield from leaves(k, prefix + "`%s`." % n)
        else:
            yield prefix + "`%s`" % n, k


def draw_columns(rng, columns, n, pools, nulls=None, prefix=""):
    """n SQL values of each column. pools gets the literals that predicates will use."""
    out = []
    for name, k in columns:
        path = prefix + "`%s`" % name
        share = rng.choice([0, 0, 0, 0.3, 0.6, 1]) if nulls is None else nulls
        if isinstance(k, list):
            inner = draw_columns(rng, k, n, pools, None, path + ".")
            vs = ["named_struct(%s)" % ", ".join("'%s', %s" % (c[0], inner[j][i]) for j, c in enumerate(k)) for i in range(n)]
        else:
            kind = KINDS[k]
            texts = kind.draw(rng, n)
            vs = ["CAST(%s AS %s)" % (kind.sql(t), kind.ddl) if k not in ("string", "path", "variant") else kind.sql(t) for t in texts]
            pools.setdefault(path, []).extend(texts)
        out.append([("NULL" if rng.random() < share else v) for v in vs])
    return out


# ---------------------------------------------------------------------------------------------------------------- tables

FLAT = [("l", "long"), ("i", "int"), ("sh", "short"), ("by", "byte"), ("f", "float"), ("d", "double"), ("de", "dec"), ("bg", "big"),
        ("s", "string"), ("dt", "date"), ("ts", "ts"), ("n", "ntz"), ("bo", "bool"), ("bi", "binary")]
NEST = [("id", "long"), ("st", [("a", "int"), ("s", "string"), ("in", [("t", "ts"), ("d.d", "double"), ("e", [("b", "big"), ("dt", "date")])])]),
        ("z.z", "int"), ("z", [("z", "int")]), ("ar", "ints"), ("mp", "map"), ("va", "variant")]

MAPPED = "'delta.columnMapping.mode'='name'"
VECTORS = "'delta.enableDeletionVectors'='true'"

# name: columns, partition columns, properties, statements between the first half of the files and the second ({t} is the
# table), statements at the end, columns of the second half, the session's time zone.
TABLES = {
    "flat": dict(columns=FLAT),
    "zoned": dict(columns=FLAT, zone="America/New_York"),
    "part_string": dict(columns=[("p", "path"), ("q", "string")] + FLAT[:10], partition=["p", "q"]),
    "part_date_int": dict(columns=[("pd", "date"), ("pi", "int"), ("pb", "bool")] + FLAT[:3] + FLAT[8:11], partition=["pd", "pi", "pb"]),
    "part_time": dict(columns=[("pt", "ts"), ("pn", "ntz")] + FLAT[:2] + FLAT[8:12], partition=["pt", "pn"]),
    "part_time_zoned": dict(columns=[("pt", "ts"), ("pd", "date")] + FLAT[:2] + FLAT[8:12], partition=["pt", "pd"], zone="Europe/Berlin"),
    "part_number": dict(columns=[("pl", "long"), ("pe", "big"), ("pf", "double"), ("pg", "float")] + FLAT[:8], partition=["pl", "pe", "pf", "pg"]),
    "part_small": dict(columns=[("p1", "byte"), ("p2", "short"), ("p3", "dec"), ("p4", "binary")] + FLAT[:6], partition=["p1", "p2", "p3", "p4"]),
    "nested": dict(columns=NEST),
    "mapped": dict(columns=[("p", "path")] + NEST, partition=["p"], properties=[MAPPED]),
    "vectors": dict(columns=FLAT, properties=[VECTORS], end=["DELETE FROM {t} WHERE pmod(hash(l, i, s, ts), 3) = 0"]),
    "vectors_part": dict(columns=[("p", "path"), ("pd", "date")] + NEST[:4], partition=["p", "pd"], properties=[VECTORS, MAPPED],
                         end=["DELETE FROM {t} WHERE pmod(hash(id, st.a, st.s), 2) = 0"]),
    "added": dict(columns=[("p", "int"), ("l", "long"), ("s", "string")], partition=["p"], properties=[MAPPED],
                  middle=["ALTER TABLE {t} ADD COLUMNS (x INT, y STRUCT<a: DATE, b: STRING>, e DECIMAL(10,2))"],
                  more=[("p", "int"), ("l", "long"), ("s", "string"), ("x", "int"), ("y", [("a", "date"), ("b", "string")]), ("e", "dec")]),
    "dropped": dict(columns=[("l", "long"), ("s", "string"), ("x", "int"), ("old", "date")], properties=[MAPPED],
                    middle=["ALTER TABLE {t} DROP COLUMN x", "ALTER TABLE {t} ADD COLUMNS (x INT)", "ALTER TABLE {t} RENAME COLUMN old TO dt", "ALTER TABLE {t} ADD COLUMNS (old STRING)"],
                    more=[("l", "long"), ("s", "string"), ("dt", "date"), ("x", "int"), ("old", "string")]),
    "first": dict(columns=FLAT, properties=["'delta.dataSkippingNumIndexedCols'='9'", "'delta.dataSkippingStringPrefixLength'='3'"]),
    "huge": dict(columns=[("h", "huge"), ("g", "huge"), ("bg", "big"), ("de", "dec"), ("l", "long"), ("d", "double"), ("f", "float")]),
    "times": dict(columns=[("ts", "ts"), ("t2", "ts"), ("n", "ntz"), ("dt", "date"), ("d2", "date"), ("l", "long")], zone="America/Sao_Paulo"),
}


# ------------------------------------------------------------------------------------------------------------ predicates

class Predicates:
    """Draws predicates over leaves, a list of (path, kind), with literals near the values of pools."""

    def __init__(self, rng, columns, pools, partition):
        self.rng, self.pools = rng, pools
        self.all = [(p, KINDS[k].group, k) for p, k in columns]
        self.partition = [c for c in self.all if c[0].strip("`") in partition]
        self.data = [c for c in self.all if c not in self.partition]
        self.cols = self.all

    def pick(self, *options):
        return self.rng.choice(options)

    def predicate(self):
        r = self.rng.random()
        if self.partition and r < 0.25:
            self.cols = self.partition
            return self.boolean(self.rng.randint(0, 2))
        if self.partition and r < 0.45:  # both halves
            sides = []
            for cols in (self.partition, self.data):
                self.cols = cols
                sides.append(self.boolean(self.rng.randint(0, 1)))
            self.rng.shuffle(sides)
            e = "(%s) %s (%s)" % (sides[0], self.pick("AND", "OR"), sides[1])
            return self.pick(e, e, "NOT (%s)" % e)
        self.cols = self.all if self.partition and r < 0.7 else self.data
        return self.boolean(self.rng.choice([0, 0, 1, 1, 2, 3]))

    def boolean(self, depth):
        if depth > 0:
            a, b = self.boolean(depth - 1), self.boolean(depth - 1)
            return self.pick("(%s) AND (%s)" % (a, b), "(%s) OR (%s)" % (a, b), "NOT (%s)" % a, "(%s) AND NOT (%s)" % (a, b),
                             "CASE WHEN %s THEN %s ELSE %s END" % (a, b, self.pick("true", "false", "NULL", "NOT (%s)" % b)),
                             "coalesce(%s, %s)" % (a, self.pick("true", "false", b)), "(%s) = (%s)" % (a, b), "if(%s, %s, false)" % (a, b),
                             "(%s) IS NOT TRUE" % a, "(%s) IS NULL" % a)
        path, group, kind = self.rng.choice(self.cols)
        r = self.rng.random()
        if r < 0.08:
            return self.pick("%s IS NULL", "%s IS NOT NULL", "isnull(%s)", "NOT isnotnull(%s)") % path
        if group == "other":
            return self.pick("%s IS NULL", "%s IS NOT NULL") % path
        if group == "bool" and r < 0.4:
            return self.pick("%s", "NOT %s", "%s = true", "%s IS NOT TRUE", "%s IS FALSE", "%s <> false", "%s <=> NULL") % path
        x = self.term(path, group) if r < 0.55 else path
        group = self.group_after or group if x is not path else group
        y = lambda: self.literal(path, group, kind if x is path else None)
        r = self.rng.random()
        if r < 0.42:
            return "%s %s %s" % (x, self.pick("=", "<", "<=", ">", ">=", "<>", "<=>", "!="), y())
        if r < 0.5:
            return "%s %s %s" % (y(), self.pick("=", "<", "<=", ">", ">="), x)
        if r < 0.6:
            some = [y() for _ in range(self.rng.choice([1, 2, 3, 12]))]
            if self.rng.random() < 0.25:
                some.append("NULL")
            return "%s %s (%s)" % (x, self.pick("IN", "IN", "NOT IN"), ", ".join(some))
        if r < 0.7:
            return "%s %s %s AND %s" % (x, self.pick("BETWEEN", "BETWEEN", "NOT BETWEEN"), y(), y())
        if r < 0.75:
            return "%s %s %s" % (x, self.pick("IS DISTINCT FROM", "IS NOT DISTINCT FROM"), y())
        if r < 0.87 or group != "string":
            others = [c for c in self.cols if c[1] == group and c[0] != path] or [c for c in self.cols if c[0] != path and c[1] != "other"]
            if not others:
                return "%s = %s" % (x, y())
            o = self.rng.choice(others)
            other = o[0] if self.rng.random() < 0.7 else self.term(o[0], o[1])
            return "%s %s %s" % (x, self.pick("=", "<", "<=", ">", ">=", "<>", "<=>"), other)
        v = self.rng.choice(self.pools.get(path) or ["a"])
        head = v[:self.rng.choice([0, 1, 2, 31, 32, 33])]
        escaped = head.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return self.pick(
            "%s LIKE %s" % (x, quote(escaped + "%")), "%s NOT LIKE %s" % (x, quote(escaped + "%")), "%s LIKE %s" % (x, quote(head + "_")), "%s LIKE %s" % (x, quote(escaped)),
            "%s LIKE %s" % (x, quote("%" + escaped)), "%s LIKE %s ESCAPE '!'" % (x, quote(head.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%")), "%s ILIKE %s" % (x, quote(escaped.upper() + "%")),
            "startswith(%s, %s)" % (x, quote(head)), "NOT startswith(%s, %s)" % (x, quote(head)), "endswith(%s, %s)" % (x, quote(v[-1:])), "contains(%s, %s)" % (x, quote(head)),
            "%s RLIKE %s" % (x, quote("^" + re.sub(r"[^A-Za-z0-9]", ".", head[:3]))), "%s LIKE ANY (%s, 'z%%')" % (x, quote(escaped + "%")))

    def term(self, x, group):
        """An expression over column x. Sets group_after to what it is, or None for the same."""
        self.group_after = None
        n = self.rng.choice([1, 2, 3, 7, 10, 100])
        if group == "int":
            e, g = self.pick(("%s + %d" % (x, n), 0), ("%s - %d" % (x, n), 0), ("%s * %d" % (x, n), 0), ("-%s" % x, 0), ("abs(%s)" % x, 0), ("%s %% %d" % (x, n), 0), ("pmod(%s, %d)" % (x, n), 0),
                             ("%s div %d" % (x, n), 0), ("%s / %d" % (x, n), "float"), ("CAST(%s AS BIGINT)" % x, 0), ("CAST(%s AS DECIMAL(20,0))" % x, "dec"), ("CAST(%s AS DOUBLE)" % x, "float"),
                             ("CAST(%s AS STRING)" % x, "string"), ("%s & 6" % x, 0), ("%s | 1" % x, 0), ("%s ^ 3" % x, 0), ("shiftright(%s, 1)" % x, 0), ("coalesce(%s, %d)" % (x, n), 0), ("nullif(%s, %d)" % (x, n), 0), ("greatest(%s, %d)" % (x, n), 0),
                             ("least(%s, %d)" % (x, n), 0), ("sign(%s)" % x, "float"), ("CASE WHEN %s > %d THEN %s ELSE 0 END" % (x, n, x), 0), ("%d - %s" % (n, x), 0), ("try_cast(%s AS TINYINT)" % x, 0), ("round(%s, -1)" % x, 0),
                             ("hash(%s)" % x, 0), ("nvl2(%s, 1, 2)" % x, 0), ("floor(%s / 2)" % x, 0), ("CAST(%s AS BOOLEAN)" % x, "bool"), ("try_add(%s, %d)" % (x, n), 0), ("%s + %s" % (x, x), 0), ("bround(%s, -1)" % x, 0),
                             ("greatest(%s, NULL)" % x, 0), ("sqrt(abs(%s))" % x, "float"), ("decode(%s, 1, 2, 3)" % x, 0), ("width_bucket(%s, 0, 10, 5)" % x, 0), ("isnull(%s)" % x, "bool"), ("CAST(%s AS FLOAT)" % x, "float"))
        elif group in ("dec", "float"):
            e, g = self.pick(("%s + %d" % (x, n), 0), ("%s - 0.5" % x, 0), ("%s * %d" % (x, n), 0), ("-%s" % x, 0), ("abs(%s)" % x, 0), ("round(%s)" % x, 0), ("floor(%s)" % x, 0), ("ceil(%s)" % x, 0), ("round(%s, 1)" % x, 0),
                             ("CAST(%s AS DOUBLE)" % x, "float"), ("try_cast(%s AS INT)" % x, "int"), ("CAST(%s AS DECIMAL(38,2))" % x, "dec"), ("%s / %d" % (x, n), 0), ("%s %% %d" % (x, n), 0), ("coalesce(%s, 0)" % x, 0), ("nullif(%s, 0)" % x, 0),
                             ("greatest(%s, 1.5)" % x, 0), ("CASE WHEN %s < 0 THEN -%s ELSE %s END" % (x, x, x), 0), ("sign(%s)" % x, 0), ("CAST(%s AS STRING)" % x, "string"), ("CAST(%s AS FLOAT)" % x, "float"), ("nanvl(%s, 0)" % x, "float"),
                             ("%s + %s" % (x, x), 0), ("bround(%s, 1)" % x, 0), ("isnan(%s)" % x, "bool"), ("signum(-%s)" % x, "float"), ("1 - %s" % x, 0), ("exp(%s)" % x, "float"), ("pow(%s, 2)" % x, "float"), ("rint(%s)" % x, "float"),
                             ("least(%s, double('NaN'))" % x, "float"), ("%s div 3" % x, "int"))
        elif group == "string":
            e, g = self.pick(("upper(%s)" % x, 0), ("lower(%s)" % x, 0), ("length(%s)" % x, "int"), ("substring(%s, 1, %d)" % (x, n), 0), ("substr(%s, -2)" % x, 0), ("left(%s, %d)" % (x, n), 0), ("right(%s, %d)" % (x, n), 0), ("trim(%s)" % x, 0), ("concat(%s, 'x')" % x, 0),
                             ("'x' || %s" % x, 0), ("replace(%s, 'a', 'b')" % x, 0), ("reverse(%s)" % x, 0), ("coalesce(%s, 'a')" % x, 0), ("nullif(%s, '')" % x, 0), ("initcap(%s)" % x, 0), ("ascii(%s)" % x, "int"), ("instr(%s, 'b')" % x, "int"),
                             ("lpad(%s, 5, '*')" % x, 0), ("substring_index(%s, 'b', 1)" % x, 0), ("translate(%s, 'ab', 'ba')" % x, 0), ("try_cast(%s AS INT)" % x, "int"), ("octet_length(%s)" % x, "int"), ("rtrim(%s)" % x, 0), ("greatest(%s, 'b')" % x, 0),
                             ("CASE WHEN %s = '' THEN NULL ELSE %s END" % (x, x), 0), ("CAST(%s AS BINARY)" % x, "binary"), ("md5(%s)" % x, 0), ("regexp_replace(%s, 'a+', 'b')" % x, 0), ("try_cast(%s AS DATE)" % x, "date"), ("crc32(%s)" % x, "int"),
                             ("locate('b', %s)" % x, "int"), ("repeat(%s, 2)" % x, 0), ("char_length(%s)" % x, "int"), ("nvl(%s, '~')" % x, 0), ("overlay(%s PLACING 'q' FROM 1)" % x, 0), ("split_part(%s, 'b', 1)" % x, 0), ("levenshtein(%s, 'ab')" % x, "int"),
                             ("soundex(%s)" % x, 0), ("concat_ws('-', %s, 'q')" % x, 0), ("hex(%s)" % x, 0), ("base64(CAST(%s AS BINARY))" % x, 0), ("rpad(%s, 3, 'z')" % x, 0), ("regexp_extract(%s, '(a.)', 1)" % x, 0), ("decode(%s, 'a', 'b', 'c')" % x, 0))
        elif group in ("ts", "ntz"):
            e, g = self.pick(("CAST(%s AS DATE)" % x, "date"), ("date_trunc('%s', %s)" % (self.pick("year", "month", "week", "day", "hour", "minute", "quarter"), x), 0), ("year(%s)" % x, "year"), ("month(%s)" % x, "int"), ("hour(%s)" % x, "int"), ("to_date(%s)" % x, "date"),
                             ("%s + INTERVAL %d DAYS" % (x, n), 0), ("%s - INTERVAL '1' HOUR" % x, 0), ("dayofweek(%s)" % x, "int"), ("coalesce(%s, TIMESTAMP'2020-01-01 00:00:00')" % x, "ts"), ("unix_timestamp(%s)" % x, "long"), ("date_format(%s, 'yyyy-MM')" % x, "string"),
                             ("%s + INTERVAL '2' MONTH" % x, 0), ("CAST(%s AS STRING)" % x, "string"), ("minute(%s)" % x, "int"), ("date_format(%s, 'yyyy-MM-dd HH:mm:ss')" % x, "string"), ("trunc(%s, 'MM')" % x, "date"), ("to_utc_timestamp(%s, 'Asia/Tokyo')" % x, "ts"),
                             ("CAST(%s AS TIMESTAMP)" % x, "ts"), ("CAST(%s AS TIMESTAMP_NTZ)" % x, "ntz"), ("greatest(%s, TIMESTAMP'2020-03-01 00:00:00')" % x, "ts"), ("datediff(%s, DATE'2020-01-01')" % x, "int"), ("extract(SECOND FROM %s)" % x, "dec"), ("weekofyear(%s)" % x, "int"),
                             ("CASE WHEN hour(%s) < 12 THEN %s END" % (x, x), 0), ("add_months(%s, 1)" % x, "date"), ("timestampadd(HOUR, 3, %s)" % x, 0), ("last_day(%s)" % x, "date"), ("from_utc_timestamp(%s, 'America/New_York')" % x, "ts"))
        elif group == "date":
            e, g = self.pick(("year(%s)" % x, "year"), ("month(%s)" % x, "int"), ("date_add(%s, %d)" % (x, n), 0), ("date_sub(%s, %d)" % (x, n), 0), ("trunc(%s, '%s')" % (x, self.pick("YEAR", "MM", "WEEK", "QUARTER")), 0), ("CAST(%s AS TIMESTAMP)" % x, "ts"), ("last_day(%s)" % x, 0), ("add_months(%s, %d)" % (x, n), 0),
                             ("%s + INTERVAL %d DAYS" % (x, n), 0), ("%s + %d" % (x, n), 0), ("datediff(%s, DATE'2020-01-01')" % x, "int"), ("dayofmonth(%s)" % x, "int"), ("weekofyear(%s)" % x, "int"), ("date_format(%s, 'yyyyMM')" % x, "string"), ("CAST(%s AS STRING)" % x, "string"), ("quarter(%s)" % x, "int"),
                             ("coalesce(%s, DATE'2020-01-01')" % x, 0), ("unix_date(%s)" % x, "long"), ("next_day(%s, 'MON')" % x, 0), ("dayofyear(%s)" % x, "int"), ("CAST(%s AS TIMESTAMP_NTZ)" % x, "ntz"), ("months_between(%s, DATE'2020-01-01')" % x, "float"), ("greatest(%s, DATE'2020-03-01')" % x, 0),
                             ("date_trunc('month', %s)" % x, "ts"), ("weekday(%s)" % x, "int"), ("make_date(year(%s), 1, 1)" % x, 0), ("%s - INTERVAL '1' MONTH" % x, 0), ("to_timestamp(%s)" % x, "ts"), ("year(%s) * 100 + month(%s)" % (x, x), "long"))
        else:
            e, g = self.pick(("coalesce(%s, NULL)" % x, 0), (x, 0), ("CAST(%s AS STRING)" % x, "string"))
        self.group_after = g or None
        return e

    def literal(self, path, group, kind):
        r = self.rng.random()
        if r < 0.02:
            return "NULL"
        own = self.pools.get(path) or []
        if kind and own and KINDS[kind].group == group:
            v = self.rng.choice(own)
            if group in ("int", "long"):
                v = int(v) + self.rng.choice([0, 0, 1, -1, 10, -10])
                return self.pick(str(v), str(v), str(v), str(v) + ".5", "'%d'" % v, "%dL" % v if -(1 << 63) <= v < 1 << 63 else str(v), "%de0" % v, "CAST(%d AS DECIMAL(38,0))" % v)
            if group == "dec":
                return self.pick(v, v, "'%s'" % v, str(int(float(v))), "%sD" % v if len(v) < 20 else v, v + "1" if "." in v and len(v) < 38 else v)
            if group == "float":
                if v in ("NaN", "Infinity", "-Infinity"):
                    return self.pick("double('%s')" % v, "float('%s')" % v, "'%s'" % v)
                f = float(v) + self.rng.choice([0, 0, 0.5, -1])
                return self.pick(repr(f) + ("" if "e" in repr(f) else "D"), "float('%r')" % f, "%d" % int(f), "%.2f" % f)
            if group == "string":
                return quote(self.pick(v, v, v[:1], v + "a", v[:32], v.upper()))
            if group == "date":
                t = "date_from_unix_date(%d)" % (int(v) + self.rng.choice([0, 0, 1, -1, 30]))
                return self.pick(t, t, "TIMESTAMP'2020-01-01 12:00:00'", "'2020-02-01'", "DATE'2020-03-01'", "'2019-06'")
            if group in ("ts", "ntz"):
                v = int(v) + self.rng.choice([0, 0, 1, -1, 1000, -1000, 999])
                t = (timestamp_sql if group == "ts" else ntz_sql)(v)
                return self.pick(t, t, t, "DATE'2020-01-01'", "'2020-01-01 00:00:00'", "TIMESTAMP'2020-03-08 07:00:00.001Z'", "TIMESTAMP_NTZ'2020-01-01 00:00:00.0005'")
            return KINDS[kind].sql(v)
        return {
            "int": lambda: str(self.rng.choice([-1, 0, 1, 2, 5, 11, 12, 50, -100, 1000])), "dec": lambda: self.pick("0", "1.50", "-3.25", "50", "1e2BD"), "float": lambda: self.pick("0.0D", "1.5", "-2", "double('NaN')", "50e0"),
            "bool": lambda: self.pick("true", "false"), "string": lambda: quote(self.rng.choice(WORDS + ["2020-01", "true", "A", "12"])), "binary": lambda: self.pick("X'61'", "CAST('b' AS BINARY)"),
            "date": lambda: self.pick("DATE'2020-01-01'", "'2019-12-31'", "DATE'2021-02-01'", "TIMESTAMP'2020-01-01 00:00:00'"), "ts": lambda: self.pick("TIMESTAMP'2020-01-01 00:00:00'", "'2020-06-01'", "DATE'2019-07-01'", "TIMESTAMP'1970-01-01 00:00:00Z'"),
            "ntz": lambda: self.pick("TIMESTAMP_NTZ'2020-01-01 00:00:00'", "'2020-06-01'", "DATE'2019-07-01'"), "year": lambda: self.pick("2019", "2020", "2021", "1970", "'2020'"), "long": lambda: self.pick("0", "18262", "1577836800", "202001"),
        }[group]()


# ----------------------------------------------------------------------------------------------------------------- Spark

def session(jars):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession
    files = [f for p in ("delta-*", "unitycatalog*", "jts*") for f in glob.glob(os.path.join(jars, p + ".jar"))]
    s = (SparkSession.builder.master("local[2]").config("spark.jars", ",".join(files))
         .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
         .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
         .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "3g")
         .config("spark.sql.shuffle.partitions", "1").config("spark.databricks.delta.snapshotPartitions", "1")
         .config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC").config("spark.sql.session.timeZone", "UTC")
         .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN").getOrCreate())
    s.sparkContext.setLogLevel("OFF")
    logging.disable(logging.CRITICAL)
    return s


def error_class(e):
    for m in ("getCondition", "getErrorClass"):
        try:
            if getattr(e, m)():
                return getattr(e, m)()
        except Exception:
            pass
    m = re.search(r"\[([A-Z0-9_.]+)\]", str(e))
    return m.group(1) if m else type(e).__name__


def make_table(s, rng, spec, where):
    """Makes a table of some files at a path; returns the literals of each column."""
    shutil.rmtree(where, ignore_errors=True)
    t = "delta.`%s`" % where
    s.conf.set("spark.sql.session.timeZone", spec.get("zone", "UTC"))
    partition = spec.get("partition", [])
    s.sql("CREATE TABLE %s (%s) USING delta %s %s" % (
        t, ddl(spec["columns"]), "PARTITIONED BY (%s)" % ", ".join(partition) if partition else "",
        "TBLPROPERTIES (%s)" % ", ".join(spec["properties"]) if spec.get("properties") else ""))
    pools = {}
    columns = spec["columns"]
    for half in range(2):
        if half == 1:
            for q in spec.get("middle", []):
                s.sql(q.replace("{t}", t))
            columns = spec.get("more", columns)
        for _ in range(3 if partition else 6):
            n = rng.choice([1, 2, 4, 8])
            drawn = draw_columns(rng, columns, n, pools)
            for j, (name, k) in enumerate(columns):
                if name in partition and rng.random() < 0.7:  # a NULL partition is one file of many, not all of them
                    kind = KINDS[k]
                    drawn[j] = [("NULL" if rng.random() < 0.15 else "CAST(%s AS %s)" % (kind.sql(v), kind.ddl) if k not in ("path", "string") else kind.sql(v)) for v in kind.draw(rng, n)]
            names = ", ".join("`%s`" % c[0] for c in columns)
            rows = " UNION ALL ".join("SELECT " + ", ".join(drawn[j][i] + " AS `%s`" % columns[j][0] for j in range(len(columns))) for i in range(n))
            s.sql("INSERT INTO %s (%s) SELECT /*+ COALESCE(1) */ * FROM (%s)" % (t, names, rows))
    for q in spec.get("end", []):
        s.sql(q.replace("{t}", t))
    return pools


def kept(df):
    plan = df._jdf.queryExecution().optimizedPlan().collectLeaves()
    for i in range(plan.size()):
        if plan.apply(i).getClass().getSimpleName() == "LogicalRelation":
            files = plan.apply(i).relation().location().preparedScan().files()
            return sorted(re.match(r"AddFile\((.*?\.parquet),", x, re.S).group(1) for x in files.mkString("\x01").split("\x01") if x)
    return []


def live(where):
    """The protocol's replay of a log that is all JSON: metadata and adds."""
    meta, adds = None, {}
    for f in sorted(glob.glob(os.path.join(where, "_delta_log", "*.json"))):
        removed, added = [], []
        for line in open(f, encoding="utf-8"):
            a = json.loads(line)
            meta = a.get("metaData", meta)
            if "remove" in a:
                removed.append(a["remove"]["path"])
            if "add" in a:
                added.append(a["add"])
        for p in removed:
            adds.pop(p, None)
        for a in added:
            adds[a["path"]] = a
    return meta, adds


def ask(s, where, predicates):
    """Yields (predicate, kept paths or None, matching paths or None, error)."""
    from pyspark.sql import functions as F
    base = s.read.format("delta").load(where)
    rows = base.select("*", F.element_at(F.split(F.col("_metadata.file_path"), "/"), -1).alias("__f")).coalesce(1).localCheckpoint()
    # The answers for all rows at once are cheaper; one by one where some predicate fails.
    def matching(some):
        try:
            r = rows.groupBy("__f").agg(*[F.coalesce(F.max(F.coalesce(F.expr(p), F.lit(False))), F.lit(False)).alias("m%d" % i) for i, p in enumerate(some)]).collect()
            return [[x[0] for x in r if x[i + 1]] for i in range(len(some))]
        except Exception as e:
            if len(some) == 1:
                return [error_class(e)]
            h = len(some) // 2
            return matching(some[:h]) + matching(some[h:])
    good = []
    for p in predicates:
        try:
            good.append((p, kept(base.where(p)), None))
        except Exception as e:
            good.append((p, None, error_class(e)))
    answered = [p for p, k, _ in good if k is not None]
    match = dict(zip(answered, [m for i in range(0, len(answered), 16) for m in matching(answered[i:i + 16])]))
    for p, k, e in good:
        m = match.get(p)
        yield p, k, m if isinstance(m, list) else None, e or (m if isinstance(m, str) else None)


def write(out, name, spec, seed, where, answers):
    meta, adds = live(where)
    base = lambda p: p.rsplit("/", 1)[-1]
    number = {base(urllib.parse.unquote(p)): i for i, p in enumerate(adds)}
    out.write("table %s (seed %d)\n" % (name, seed))
    out.write("schema %s %s %s\n" % (meta["schemaString"], json.dumps(meta["partitionColumns"]), json.dumps(meta["configuration"])))
    out.write("zone %s\n" % spec.get("zone", "UTC"))
    for i, a in enumerate(adds.values()):
        out.write("add %s\n" % json.dumps({"path": "f%d" % i, "partitionValues": a["partitionValues"], "dataChange": True, "stats": a.get("stats")}, ensure_ascii=False, separators=(",", ":")))
    for p, k, m, e in answers:
        assert "\n" not in p
        out.write("where %s\n" % p)
        if k is None:
            out.write("error %s\n" % e)
            continue
        files = lambda ps: " ".join(str(i) for i in sorted(number[base(urllib.parse.unquote(x))] for x in ps))
        out.write(("kept " + files(k)).strip() + "\n")
        out.write(("matching " + files(m)).strip() + "\n" if m is not None else "fails %s\n" % e)
    out.write("\n")
    out.flush()


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--jars", required=True, help="directory of the jars of Delta for Spark")
    a.add_argument("--scratch", required=True, help="directory for the tables; they stay there")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--predicates", type=int, default=40, help="for each table")
    a.add_argument("--tables", default="", help="names, with commas; all by default")
    a.add_argument("out")
    o = a.parse_args()
    s = session(o.jars)
    with open(o.out, "w", encoding="utf-8") as out:
        for name, spec in TABLES.items():
            if o.tables and name not in o.tables.split(","):
                continue
            rng = random.Random("%s %d" % (name, o.seed))
            where = os.path.join(os.path.abspath(o.scratch), "%s_%d" % (name, o.seed))
            try:
                pools = make_table(s, rng, spec, where)
            except Exception as e:
                print(name, "not made:", str(e)[:600], file=sys.stderr)
                continue
            columns = list(leaves(spec.get("more", spec["columns"])))
            g = Predicates(rng, columns, pools, spec.get("partition", []))
            answers = list(ask(s, where, [g.predicate() for _ in range(o.predicates)]))
            write(out, name, spec, o.seed, where, answers)
            print(name, sum(k is not None for _, k, _, _ in answers), "of", len(answers), "answered", file=sys.stderr)


if __name__ == "__main__":
    main()
