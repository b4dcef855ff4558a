// Command lambdahost runs built Lambda functions on this machine. It implements the Lambda
// Runtime API and connects functions to HTTP, SQS queues and schedules:
//
//	CGO_ENABLED=0 go build -tags lambda.norpc -o bin/stream ./functions/stream
//	CGO_ENABLED=0 go build -tags lambda.norpc -o bin/step ./functions/step
//	go run ./scripts/verify/lambdahost \
//		-function stream=bin/stream -function step=bin/step,timeout=60s,memory=256,concurrency=4 \
//		-http 127.0.0.1:8080=stream:url \
//		-queue http://127.0.0.1:5000/123456789012/mailbox=step,retry=5s
//
// With -invoke it sends one event to a function, prints the response and exits:
//
//	go run ./scripts/verify/lambdahost -function sweep=bin/sweep -invoke sweep=events/sweep.json
//
// With -scratch it creates the tables and the queue of the functions and sets the variables
// for them, such as REVEILLE_TABLE. The endpoints must not be those of AWS.
//
// Functions inherit the environment; -env adds variables. Queues are at AWS_ENDPOINT_URL_SQS,
// or at AWS if it is unset. The command runs until it is interrupted. Then it prints the time
// of each sandbox from exec to its first request for an event. Package host lists the
// differences from AWS.
package main
