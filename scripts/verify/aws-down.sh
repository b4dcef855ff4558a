#!/usr/bin/env bash
# Stops what scripts/verify/aws-up.sh started, if it did. AWS_FOLDER is as there.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${AWS_FOLDER:-.reveille}
pid=$folder/aws.pid
rm -f "$folder/aws.env"
if [ ! -s "$pid" ]; then exit; fi
process=$(cat "$pid")
# The number may meanwhile belong to another process. ps is not everywhere.
running() { (ps -o command= -p "$process" || tr '\0' ' ' <"/proc/$process/cmdline") 2>/dev/null | grep -q 'aws_server\.py'; }
if running; then
	kill "$process"
	for _ in $(seq 50); do
		running || break
		sleep 0.1
	done
	if running; then kill -KILL "$process"; fi
	echo "aws-down: moto stopped"
fi
rm -f "$pid"
