#!/usr/bin/env bash
# Runs a command with the endpoints of scripts/aws-up.sh in its environment, and
# stops the server afterwards, whatever the command comes to: but only one that it
# started itself.
set -euo pipefail
cd "$(dirname "$0")/.."
pid=.reveille/aws.pid
before=$(cat "$pid" 2>/dev/null || true)
stop() { if [ "$(cat "$pid" 2>/dev/null || true)" != "$before" ]; then scripts/aws-down.sh; fi; }
trap stop EXIT
scripts/aws-up.sh
. .reveille/aws.env
"$@"
