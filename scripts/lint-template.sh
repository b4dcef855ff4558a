#!/usr/bin/env bash
# Lints template.yaml as it is and after the SAM transform, since each finds what
# the other does not. Leaves the plain CloudFormation in .reveille/template.json.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(scripts/python.sh aws)
lint() { "$python" -c 'from cfnlint.runner import main; main()' --regions us-east-1 -- "$1"; }
mkdir -p .reveille
lint template.yaml
"$python" scripts/sam-transform.py template.yaml .reveille/template.json
lint .reveille/template.json
echo "lint-template: template.yaml and .reveille/template.json are clean"
