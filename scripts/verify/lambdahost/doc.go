// Command lambdahost runs built Lambda functions on this machine, under a
// Lambda Runtime API of its own, behind HTTP, SQS queues and schedules:
//
//	CGO_ENABLED=0 go build -tags lambda.norpc -o bin/stream ./functions/stream
//	CGO_ENABLED=0 go build -tags lambda.norpc -o bin/step ./functions/step
//	go run ./scripts/verify/lambdahost \
//		-function stream=bin/stream -function step=bin/step,timeout=60s,memory=256,concurrency=4 \
//		-http 127.0.0.1:8080=stream:url \
//		-queue http://127.0.0.1:5000/123456789012/mailbox=step,retry=5s
//
// With -invoke it hands a function one event, prints the response, and ends:
//
//	go run ./scripts/verify/lambdahost -function sweep=bin/sweep -invoke sweep=events/sweep.json
//
// With -scratch it makes the tables and the queue that the functions use, at endpoints
// that are not AWS's own, and names them: REVEILLE_TABLE and the others need not be set.
//
// Functions inherit the environment, with -env on top. The queues are those of
// AWS_ENDPOINT_URL_SQS, or of AWS itself. It runs until it is interrupted, then
// prints how long each sandbox took from exec to its first request for an event.
// The package host does the work and says what is and is not like AWS.
package main
