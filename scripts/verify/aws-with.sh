#!/usr/bin/env bash
# Runs a command with the endpoints of scripts/verify/aws-up.sh in its environment: those that
# the environment already names, or of the server that is up, else of one of its own, which
# ends with the command, whatever that comes to. Several run side by side.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=.reveille
if [ ! -s .reveille/aws.pid ]; then
	folder=$(mktemp -d)
	export AWS_FOLDER=$folder
	trap 'scripts/verify/aws-down.sh; rm -rf "$folder"' EXIT
fi
scripts/verify/aws-up.sh
. "$folder/aws.env"
"$@"
