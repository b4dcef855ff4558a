// Package openai is a model provider over the Chat Completions API, streamed,
// of OpenAI and of the many servers that speak it: Azure's v1 endpoint, Groq,
// xAI, DeepSeek, OpenRouter, vLLM, llama.cpp, Ollama.
//
// [New] makes a [Model], which implements model.Model over net/http alone. It
// makes one attempt an inference; whoever calls it repeats. Every
// failure of the provider is a *model.Error whose kind says whether waiting can
// help; a stream that ends before its finish reason is an error for which
// errors.Is(err, model.ErrTruncated) holds, never a turn.
//
// # What servers do differently
//
// Tool calls are told apart by index, and by id where a server leaves the index
// out or always says 0; arguments may come whole or in pieces; calls that are
// there count even when the finish reason is "stop". Usage is overwritten by
// each report, never added. Comments, unknown fields, a second finish reason and
// an error inside a stream that began with 200 are all expected. [Dialect]
// covers the one difference in the request.
//
// # What is not here
//
// Reasoning is streamed but not sent back: the values that some servers want
// echoed (reasoning_details, thought signatures) are dropped. Messages are text;
// images and audio have no blocks yet. Azure keys go out as a bearer token only.
//
// The package was seen over HTTP against fake servers only (the tests' own and
// an independent one, see scripts/clients/models), not against a live provider.
package openai
