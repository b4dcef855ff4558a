#!/usr/bin/env bash
# Holds 50 random requests of each model adapter, the same in every run, against the
# schemas that its provider publishes: see schemas.py.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$(scripts/verify/python.sh schemas)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
REVEILLE_SCHEMAS=$work "${GO:-go}" test -vet=off -count=1 -run TestRequestsForSchemas \
	./adapters/models/openai ./adapters/models/anthropic ./adapters/models/gemini ./adapters/models/bedrock
"$python" scripts/verify/schemas.py "$work"
