#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each (default 60s).
set -euo pipefail
time=${1:-60s}
for folder in $(git ls-files '*_test.go' | xargs grep -lE '^func Fuzz' | xargs -n1 dirname | sort -u); do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$folder"/*_test.go | cut -c6- | sort -u); do
		echo "$folder $target"
		go test -run '^$' -fuzz "^$target\$" -fuzzminimizetime 20x -fuzztime "$time" "./$folder"
	done
done
