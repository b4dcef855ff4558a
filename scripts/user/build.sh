#!/usr/bin/env bash
# Builds a Go command, as go build does, and says how far it is: the first time
# takes half a minute, in which the modules are fetched and compiled.
set -euo pipefail
"${GO:-go}" build -v "$@" 2>&1 | awk '
	/[ :]/ { print; fflush(); next } # what is fetched, and errors
	{ if (++built % 50 == 0) { print "built " built " packages"; fflush() } }' >&2
