// Package bedrocktest simulates Bedrock's ConverseStream over HTTP, for tests: [Event],
// [Exception] and [Refuse] make the service's messages, [Serve] sends them.
package bedrocktest
