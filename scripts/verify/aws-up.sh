#!/usr/bin/env bash
# Gives `make test-aws` a DynamoDB, an SQS and an EventBridge endpoint: writes
# aws.env into AWS_FOLDER (default .reveille), to be sourced. Those that the environment already names are used
# as they are (without one of EventBridge its test is skipped); else a moto server is
# started on a free port of 127.0.0.1, or on that of the first argument. A server that
# is still up from before is used again.
set -euo pipefail
cd "$(dirname "$0")/../.."
port=${1:-0}
folder=${AWS_FOLDER:-.reveille}
environment=$folder/aws.env
pid=$folder/aws.pid
log=$folder/aws.log
mkdir -p "$folder"
umask 077 # the keys in the environment file may be real

if ! command -v curl >/dev/null; then
	echo "aws-up: curl is not on PATH" >&2
	exit 1
fi

# responds reports whether any HTTP response comes, an error among them.
responds() { curl --silent --output /dev/null --max-time 5 "$1"; }

# write_environment keeps a region and keys that are set.
write_environment() {
	cat >"$environment" <<-END
		export AWS_ENDPOINT_URL_DYNAMODB='$1'
		export AWS_ENDPOINT_URL_SQS='$2'
		export AWS_ENDPOINT_URL_EVENTBRIDGE='$3'
		export AWS_ENDPOINT_URL_S3='$4'
		export AWS_ENDPOINT_URL_SECRETS_MANAGER='$5'
		export AWS_ENDPOINT_URL_SSM='$6'
		export AWS_REGION='${AWS_REGION:-us-east-1}'
		export AWS_ACCESS_KEY_ID='${AWS_ACCESS_KEY_ID:-test}'
		export AWS_SECRET_ACCESS_KEY='${AWS_SECRET_ACCESS_KEY:-test}'
	END
	if [ -n "${AWS_SESSION_TOKEN:-}" ]; then echo "export AWS_SESSION_TOKEN='$AWS_SESSION_TOKEN'" >>"$environment"; fi
}

# url prints where the server listens, which it tells before it does: it may have
# chosen the port.
url() { sed -n 's/.*Running on \(http:[^ ]*\).*/\1/p' "$log" | head -n 1; }

# ours says whether the process that we started still runs.
ours() {
	[ -s "$pid" ] && (ps -o command= -p "$(cat "$pid")" || tr '\0' ' ' <"/proc/$(cat "$pid")/cmdline") 2>/dev/null | grep -q 'aws_server\.py'
}

dynamodb=${AWS_ENDPOINT_URL_DYNAMODB:-}
sqs=${AWS_ENDPOINT_URL_SQS:-}
if [ -n "$dynamodb$sqs" ]; then
	for name in AWS_ENDPOINT_URL_DYNAMODB AWS_ENDPOINT_URL_SQS; do
		if [ -z "${!name:-}" ]; then
			echo "aws-up: $name is not set but the other one is: set both or none" >&2
			exit 1
		fi
		if ! responds "${!name}"; then
			echo "aws-up: nothing responds at $name=${!name}" >&2
			exit 1
		fi
	done
	write_environment "$dynamodb" "$sqs" "${AWS_ENDPOINT_URL_EVENTBRIDGE:-}" "${AWS_ENDPOINT_URL_S3:-}" "${AWS_ENDPOINT_URL_SECRETS_MANAGER:-}" "${AWS_ENDPOINT_URL_SSM:-}"
	echo "aws-up: using $dynamodb and $sqs"
	exit
fi

if ours; then
	at=$(url)
	if [ -n "$at" ] && responds "$at"; then
		write_environment "$at" "$at" "$at" "$at" "$at" "$at"
		echo "aws-up: moto is still up at $at"
		exit
	fi
	scripts/verify/aws-down.sh
fi

python=$(scripts/verify/python.sh aws)
: >"$log" # it is read before the server has made it
nohup "$python" scripts/verify/aws_server.py --host 127.0.0.1 --port "$port" >"$log" 2>&1 </dev/null &
echo $! >"$pid"
for _ in $(seq 1200); do # two minutes: the processors may be busy
	at=$(url)
	if [ -n "$at" ] && responds "$at"; then
		write_environment "$at" "$at" "$at" "$at" "$at" "$at"
		echo "aws-up: moto at $at (source $environment)"
		exit
	fi
	ours || break
	sleep 0.1
done
echo "aws-up: the moto server did not start:" >&2
cat "$log" >&2
scripts/verify/aws-down.sh
exit 1
