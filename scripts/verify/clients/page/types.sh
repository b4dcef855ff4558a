#!/usr/bin/env bash
# Checks the types of the page's sources, and that the packages beside them are those
# that npm has.
set -euo pipefail
cd "$(dirname "$0")"
npx --no-install tsc -p tsconfig.json
(cd ../../../../adapters/protocols/page/packages && find . -type f) | while read -r file; do
	cmp -s "../../../../adapters/protocols/page/packages/$file" "node_modules/$file" || { echo "adapters/protocols/page/packages/$file is not npm's"; exit 1; }
done
