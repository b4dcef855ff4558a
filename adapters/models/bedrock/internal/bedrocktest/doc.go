// Package bedrocktest plays Bedrock's ConverseStream over HTTP, for tests: [Event],
// [Exception] and [Refuse] make what the service sends, [Serve] sends it.
package bedrocktest
