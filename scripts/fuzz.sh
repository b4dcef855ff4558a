#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each (default 60s). A finding
# fails: go writes it below testdata/fuzz, where `go test` tries it again. That the time
# was over while an input ran is none, although go may report it as a failure.
set -euo pipefail
time=${1:-60s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for folder in $(git ls-files '*_test.go' | xargs grep -lE '^func Fuzz' | xargs -n1 dirname | sort -u); do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$folder"/*_test.go | cut -c6- | sort -u); do
		echo "$folder $target"
		go test -run '^$' -fuzz "^$target\$" -fuzzminimizetime 20x -fuzztime "$time" "./$folder" >"$log" 2>&1 && failed= || failed=1
		tail -n 3 "$log"
		if [ -n "$failed" ] && { grep -q 'Failing input written' "$log" || ! grep -q '^ *context deadline exceeded$' "$log"; }; then
			cat "$log"
			exit 1
		fi
	done
done
