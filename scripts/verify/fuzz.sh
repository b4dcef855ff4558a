#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each (default 60s), as many
# folders at once as there are processors, one worker each; while one folder is compiled,
# once for all its targets, those before it run. A finding fails: it is written below
# testdata/fuzz, where `go test` tries it again. That the time was over while an input
# ran is none, although it may be reported as a failure.
set -euo pipefail
time=${1:-60s}
work=$(mktemp -d)
running=() # processes, the oldest first
names=()
trap 'kill ${running[@]+"${running[@]}"} 2>/dev/null || true; wait; rm -rf "$work"' EXIT
corpus=$(go env GOCACHE)/fuzz # where `go test -fuzz` keeps what it finds interesting

# fuzz FOLDER PACKAGE BINARY runs the targets of one folder.
fuzz() {
	local folder=$1 package=$2 binary=$3 target failed
	cd "$folder"
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' ./*_test.go | cut -c6- | sort -u); do
		echo "$folder $target"
		"$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzzminimizetime 20x -test.fuzztime "$time" \
			-test.parallel 1 -test.fuzzcachedir "$corpus/$package" >"$binary.log" 2>&1 && failed= || failed=1
		tail -n 2 "$binary.log"
		if [ -n "$failed" ] && { grep -q 'Failing input written' "$binary.log" || ! grep -q '^ *context deadline exceeded$' "$binary.log"; }; then
			cat "$binary.log"
			return 1
		fi
	done
}

# finish waits for the oldest folder and prints what came of it.
finish() {
	local failed=
	wait "${running[0]}" || failed=1
	cat "$work/${names[0]}.out"
	running=("${running[@]:1}") names=("${names[@]:1}")
	[ -z "$failed" ] || exit 1
}

lanes=$(getconf _NPROCESSORS_ONLN)
for folder in $(git ls-files '*_test.go' | xargs grep -lE '^func Fuzz' | xargs -n1 dirname | sort -u); do
	name=$(echo "$folder" | tr / -)
	go test -c -fuzz . -o "$work/$name.test" "./$folder"
	if [ "${#running[@]}" -ge "$lanes" ]; then finish; fi
	fuzz "$folder" "$(go list "./$folder")" "$work/$name.test" >"$work/$name.out" 2>&1 &
	running+=($!) names+=("$name")
done
while [ "${#running[@]}" -gt 0 ]; do finish; done
