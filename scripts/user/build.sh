#!/usr/bin/env bash
# Builds a Go command like go build and prints its progress. The first build downloads and
# compiles the modules.
set -euo pipefail
"${GO:-go}" build -v "$@" 2>&1 | awk '
	/[ :]/ { print; fflush(); next } # downloads and errors
	{ if (++built % 50 == 0) { print "built " built " packages"; fflush() } }' >&2
