#!/usr/bin/env bash
# Brings the contestants that are not Go: a Python environment, the loop in C, the kernel in Rust.
set -euo pipefail
cd "$(dirname "$0")"
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/pip install --quiet --requirement requirements.txt
if command -v cc >/dev/null; then cc -O3 -march=native -o limit/range limit/range.c -lpthread; else echo "no C compiler: without the loop in C"; fi
if command -v cargo >/dev/null; then (cd kernel && cargo build --release); else echo "no cargo: without the Rust kernel"; fi
