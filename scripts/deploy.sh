#!/usr/bin/env bash
# Builds the functions and deploys template.yaml with the SAM CLI: guided the first time,
# when there is no samconfig.toml yet, and with what it remembers from then on. Arguments
# go on to `sam deploy`. Computes Release, a digest of what was built and of the
# parameters, since SAM sees new code alone and a changed parameter would publish no
# version of a function otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v sam >/dev/null; then
	echo "deploy: the SAM CLI is not on PATH: pip install aws-sam-cli, or docs.aws.amazon.com/serverless-application-model" >&2
	exit 1
fi
digest() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1; }
sam build --build-in-source
config=samconfig.toml

# overrides prints the parameters that samconfig.toml remembers, without Release.
overrides() {
	[ -f "$config" ] || return 0
	sed -n 's/^parameter_overrides *= *"\(.*\)"$/\1/p' "$config" | sed 's/\\"/"/g; s/ *Release="[0-9a-f]*"//; s/^ *//'
}
release=$({
	find .aws-sam/build -type f ! -name '*.toml' -print | LC_ALL=C sort | while read -r file; do
		echo "$file $(digest <"$file")"
	done
	overrides
	printf '%s\n' "$*"
} | digest)
echo "deploy: release $release"
if [ ! -f "$config" ]; then
	exec sam deploy --guided --capabilities CAPABILITY_IAM --parameter-overrides "Release=$release" "$@"
fi
eval "set -- --parameter-overrides $(overrides | sed 's/[$`]/\\&/g') Release=$release ${*:+$(printf '%q ' "$@")}"
exec sam deploy --capabilities CAPABILITY_IAM "$@"
