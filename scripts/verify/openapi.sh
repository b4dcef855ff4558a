#!/usr/bin/env bash
# Holds the OpenAPI document against its specification, makes clients of it and uses a
# local host with them (openapi/clients.sh), and holds the host against the document:
# random requests (SEED, EXAMPLES for each operation) bring no 500 and no response that
# it does not have.
#
# Left out of schemathesis are checks that tell what is right here for wrong:
#   - positive_data_acceptance: a cursor, a position or a moment in the next year is no
#     schema's to tell.
#   - unsupported_method: a Go test holds the methods against the document, and so
#   - allow_header_conformance: one path may be the pattern of another.
#   - ensure_resource_availability: a thread that was just made has no run.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$(scripts/verify/python.sh openapi)
hooks=$PWD/scripts/verify/openapi_hooks.py
work=$(mktemp -d)
host=
clean() {
	if [ -n "$host" ]; then kill "$host" 2>/dev/null || true; wait "$host" 2>/dev/null || true; fi
	rm -rf "$work"
}
trap clean EXIT

"$python" -m openapi_spec_validator adapters/protocols/httpapi/openapi.json

"${GO:-go}" build -o "$work/demo" ./scripts/user/demo
env REVEILLE_ADDR=127.0.0.1:0 REVEILLE_DATA=memory REVEILLE_MODEL=scripted "$work/demo" 2>"$work/log" &
host=$!
url=
for _ in $(seq 100); do
	url=$(sed -n 's/.*msg=listening url=\([^ ]*\).*/\1/p' "$work/log" | head -n 1)
	[ -z "$url" ] || break
	kill -0 "$host" 2>/dev/null || break
	sleep 0.1
done
if [ -z "$url" ]; then
	cat "$work/log"
	echo "openapi: the host did not start"
	exit 1
fi
scripts/verify/openapi/clients.sh "$url" "$python"
cd "$work" # it leaves files where it runs
SCHEMATHESIS_HOOKS=$hooks "$python" -m schemathesis.cli run "$url/openapi.json" --no-color \
	--seed "${SEED:-1}" --max-examples "${EXAMPLES:-8}" --generation-database none --request-timeout 20 \
	--exclude-checks positive_data_acceptance,unsupported_method,allow_header_conformance,ensure_resource_availability --warnings off
if grep 'level=ERROR' "$work/log"; then
	echo "openapi: the host has logged errors"
	exit 1
fi
