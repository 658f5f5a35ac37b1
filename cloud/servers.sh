#!/usr/bin/env bash
# Brings the servers that the tests run against and that are not Go: moto (S3) and Azurite.
set -euo pipefail
cd "$(dirname "$0")"
[ -x .servers/venv/bin/python ] || python3 -m venv .servers/venv
.servers/venv/bin/pip install --quiet 'moto[server,s3]==5.2.5'
npm install --silent --no-fund --no-audit --prefix .servers azurite@3.37.0
