#!/usr/bin/env bash
# Lints template.yaml as it is and after the SAM transform, since each finds what
# the other does not. Leaves the plain CloudFormation in .reveille/template.json, and
# in .reveille/gradual.json what it is with gradual releases, which the transform
# decides about.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$(scripts/verify/python.sh aws)
lint() { "$python" -c 'from cfnlint.runner import main; main()' --regions us-east-1 "$@"; }
mkdir -p .reveille
lint -- template.yaml
# The template of the user's resources as it is, with each of its samples, and with all.
rm -rf .reveille/own && mkdir .reveille/own
sed 's/^  # /  /' infra/own.yaml >.reveille/own/all.yaml
for sample in $(sed -n 's/^  ## Sample \([a-z]*\): .*/\1/p' infra/own.yaml); do
	sed "/^  ## Sample $sample:/,/^\$/s/^  # /  /" infra/own.yaml >".reveille/own/$sample.yaml"
done
lint -- infra/own.yaml .reveille/own/*.yaml
mkdir -p .reveille/infra && cp infra/own.yaml .reveille/infra/ # template.json names it
# The transform puts values in the place of parameters: not used any more (W2001), nothing
# left to substitute (W1020); and conditions in the place of nothing, so that what gradual
# releases have seems to lack what stands under their condition (W1001). Without them
# nothing asks whether a release raises the schema (W8001). sam deploy uploads the nested
# template, whose path is local until then (W3002).
"$python" scripts/verify/sam-transform.py template.yaml .reveille/template.json
lint --ignore-checks W2001 W1020 W8001 W3002 -- .reveille/template.json
"$python" scripts/verify/sam-transform.py template.yaml .reveille/gradual.json GradualReleases=true AutoPublishCodeSha256="$(printf '%064d' 1)"
lint --ignore-checks W2001 W1020 W1001 W3002 -- .reveille/gradual.json
echo "lint-template: template.yaml is clean before and after the transform"
