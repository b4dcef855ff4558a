#!/usr/bin/env bash
# Builds every function as `make deploy` does, and as `sam build` alone does, which works
# in a copy: both in a clean copy of this tree, and without Docker. Looks at what has
# come of each: an executable for Linux on arm64 of every function of the template, and
# what else its package needs. Both modes make the same bytes. A project of one's own, by
# scripts/user/new, is built in the second mode.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$(scripts/verify/python.sh sam)
export SAM_CLI_TELEMETRY=0
sam() { "$python" -c 'from samcli.cli.main import cli; cli(prog_name="sam")' "$@"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sam validate --lint --region us-east-1 --template-file template.yaml

# What git would have of the tree as it stands: neither what was built nor what was installed.
mkdir "$work/clean"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
	if [ -e "$file" ]; then printf '%s\0' "$file"; fi # else deleted, and git does not know yet
done | tar --null --files-from=- --create --file=- | tar --extract --directory="$work/clean" --file=-
functions=$(sed -n '/^  [A-Za-z][A-Za-z]*Function:$/{s/^  \(.*\):$/\1/p;}' template.yaml)

# build runs sam build in a folder with further arguments, and looks at what is there.
build() {
	local start=$SECONDS folder=$1 built=$1/.aws-sam/build function bootstrap
	shift
	rm -rf "$folder/.aws-sam"
	if ! (cd "$folder" && sam build "$@") >"$work/log" 2>&1; then
		cat "$work/log"
		echo "sam-build: ${folder##*/}: sam build${*:+ $*} failed"
		exit 1
	fi
	for function in $functions; do
		bootstrap=$built/$function/bootstrap
		if [ ! -x "$bootstrap" ]; then
			echo "sam-build: ${folder##*/}: sam build${*:+ $*} has made no $function/bootstrap"
			exit 1
		fi
		for setting in GOOS=linux GOARCH=arm64 CGO_ENABLED=0 -tags=lambda.norpc,bedrock,nethttpomithttp2; do
			if ! "${GO:-go}" version -m "$bootstrap" | grep -q "build	$setting\$"; then
				echo "sam-build: ${folder##*/}: sam build${*:+ $*} has built $function/bootstrap without $setting"
				exit 1
			fi
		done
	done
	if ! cmp "$triggers" "$built/TriggerFunction/triggers.json"; then
		echo "sam-build: ${folder##*/}: sam build${*:+ $*} has not put $triggers into the package of TriggerFunction"
		exit 1
	fi
	for function in ApiFunction StreamFunction StepFunction TriggerFunction; do
		if ! cmp "$(dirname "$triggers")/environment" "$built/$function/environment"; then
			echo "sam-build: ${folder##*/}: sam build${*:+ $*} has not put the file environment into the package of $function"
			exit 1
		fi
	done
	if [ ! -f "$built/Own/template.yaml" ]; then
		echo "sam-build: ${folder##*/}: sam build${*:+ $*} has not copied infra/own.yaml"
		exit 1
	fi
	(cd "$built" && find . -type f ! -name '*.yaml' ! -name '*.toml' -exec cksum {} + | LC_ALL=C sort -k 3) >"$work/sums$#"
	echo "${folder##*/}: sam build${*:+ $*}: $((SECONDS - start)) s"
}

# both builds a folder in both modes.
both() {
	build "$1" --build-in-source
	build "$1"
	if ! diff "$work/sums1" "$work/sums0"; then
		echo "sam-build: ${1##*/}: the two modes have built other bytes"
		exit 1
	fi
}

triggers=functions/app/triggers.json
both "$work/clean"

# A project of one's own, of this tree.
(cd "$work/clean" && "${GO:-go}" run ./scripts/user/new -replace "$work/clean" "$work/project" example.com/project >"$work/log" 2>&1) || { cat "$work/log"; exit 1; }
triggers=$work/project/app/triggers.json
build "$work/project"
echo "sam-build: $(echo "$functions" | wc -w) functions of the template in both modes, and those of a project"
