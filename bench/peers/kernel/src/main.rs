//! The Rust kernel as a contestant: see ../README.md for what it is asked and answers.
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use delta_kernel::expressions::{Expression, Predicate};
use delta_kernel::scan::state::ScanFile;
use delta_kernel::Snapshot;
use delta_kernel_default_engine::storage::store_from_url;
use delta_kernel_default_engine::DefaultEngineBuilder;

type Failure = Box<dyn std::error::Error>;

fn count(files: &mut u64, _: ScanFile) {
    *files += 1;
}

/// Opens the table and returns how many files may hold a row with lower <= id <= upper, or 1 at the first of them.
fn files(table: &str, lower: i64, upper: i64, first: bool) -> Result<u64, Failure> {
    let url = delta_kernel::try_parse_uri(table)?;
    let engine = DefaultEngineBuilder::new(store_from_url(&url)?).build();
    let snapshot = Snapshot::builder_for(url).build(&engine)?;
    let id = Expression::column(["id"]);
    let predicate = Predicate::and(
        id.clone().ge(Expression::literal(lower)),
        id.le(Expression::literal(upper)),
    );
    let scan = snapshot
        .scan_builder()
        .with_predicate(Arc::new(predicate))
        .build()?;
    let mut n = 0;
    for batch in scan.scan_metadata(&engine)? {
        n = batch?.visit_scan_files(n, count)?;
        if first && n > 0 {
            return Ok(1);
        }
    }
    Ok(n)
}

fn run(dir: &str, step: &str, steps: &serde_json::Value) -> Result<Option<(f64, u64)>, Failure> {
    let (table, bounds, first) = match step {
        "cold struct" => ("struct", "range", false),
        "cold json" => ("json", "range", false),
        "first struct" => ("struct", "first", true),
        "first json" => ("json", "first", true),
        "commit" => ("commit", "in_commit", false),
        _ => return Ok(None),
    };
    let bounds = &steps[bounds];
    let (lower, upper) = (bounds[0].as_i64().ok_or("no bound")?, bounds[1].as_i64().ok_or("no bound")?);
    let start = Instant::now();
    let n = files(&format!("{dir}/{table}"), lower, upper, first)?;
    Ok(Some((start.elapsed().as_secs_f64(), n)))
}

fn main() -> Result<(), Failure> {
    let dir = std::env::args().nth(1).ok_or("usage: kernel-worker DIR")?;
    let steps: serde_json::Value = serde_json::from_slice(&std::fs::read(format!("{dir}/steps.json"))?)?;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (verb, step) = line.split_once(' ').ok_or("a line is a verb and a step")?;
        let reply = match (verb, run_if(verb, &dir, step, &steps)) {
            (_, Err(e)) => serde_json::json!({"error": e.to_string()}),
            (_, Ok(None)) => serde_json::json!({"unsupported": true}),
            (_, Ok(Some((seconds, answer)))) => serde_json::json!({"seconds": seconds, "answer": answer}),
        };
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}

/// Preparing is running once: what the operating system caches is warm from then on.
fn run_if(verb: &str, dir: &str, step: &str, steps: &serde_json::Value) -> Result<Option<(f64, u64)>, Failure> {
    match verb {
        "prepare" | "run" => run(dir, step, steps),
        _ => Ok(Some((0.0, 0))),
    }
}
