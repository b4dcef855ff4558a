// Package anthropic is a model provider over the Messages API of Anthropic, streamed, and
// of servers that speak it.
package anthropic
