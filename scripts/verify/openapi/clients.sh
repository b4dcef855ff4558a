#!/usr/bin/env bash
# Makes clients of the OpenAPI document by three generators, at the versions that are
# pinned beside their programs, and uses a host with each: clients.sh URL PYTHON, the
# Python being one with the packages of scripts/verify/requirements-openapi.txt. Each program
# must print what clients/expected.txt has. What is made lies in a folder that is
# removed at the end.
set -euo pipefail
cd "$(dirname "$0")"
url=$1 python=$2 document=$PWD/../../../adapters/protocols/httpapi/openapi.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r clients/go clients/typescript "$work"

make_go() {
	cd "$work/go"
	mkdir api
	"${GO:-go}" tool oapi-codegen -generate types,client -package api -o api/api.go "$document"
	"${GO:-go}" build -o use .
}
make_python() {
	echo 'post_hooks: []' >"$work/python.yaml" # no formatter is needed
	"$python" -m openapi_python_client generate --path "$document" --meta none --config "$work/python.yaml" --output-path "$work/python/api"
}
make_typescript() {
	cd "$work/typescript"
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	npx --no-install openapi-typescript "$document" -o api.ts
	npx --no-install tsc -p tsconfig.json
}

mkdir "$work/python"
names=(go python typescript) making=()
for name in "${names[@]}"; do
	"make_$name" >"$work/$name.log" 2>&1 &
	making+=($!)
done
for i in "${!names[@]}"; do
	wait "${making[$i]}" || { cat "$work/${names[$i]}.log"; echo "openapi: no client in ${names[$i]}"; exit 1; }
done

# use NAME COMMAND... prints what a client differs in.
use() {
	local name=$1
	shift
	if ! "$@" "$url" >"$work/$name.out" 2>"$work/$name.log" || ! diff clients/expected.txt "$work/$name.out"; then
		cat "$work/$name.log"
		echo "openapi: the client in $name has not printed what clients/expected.txt has"
		exit 1
	fi
	echo "openapi: the client in $name works"
}
use go "$work/go/use"
use python env PYTHONPATH="$work/python" "$python" clients/python/use.py
use typescript node "$work/typescript/made/use.js"
