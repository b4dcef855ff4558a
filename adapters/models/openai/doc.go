// Package openai is a model provider over the two APIs of OpenAI, streamed.
//
// [New] makes a model over Chat Completions, which many servers speak: OpenAI, Azure's
// v1 endpoint, Groq, OpenRouter, DeepSeek, Z.ai, xAI, Mistral, vLLM, llama.cpp, Ollama.
// With [DialectResponses] it is over the Responses API, which keeps the reasoning of
// OpenAI's models from step to step. [Adapter] and [Dialect.Adapter] make them of providers
// that are data. Both implement model.Model and model.Checker over net/http alone. They make one attempt an inference; whoever calls them repeats. Every
// failure of the provider is a *model.Error whose kind says whether waiting can help; a
// stream that ends before its turn does is an error of kind
// model.KindInterrupted, never a turn.
//
// # What servers do differently
//
// A [Dialect] says what a server calls the limit of tokens and the effort, whether it
// takes a schema (else the system prompt asks for JSON of it), which calls can be forced,
// and what it wants back of the model's reasoning: DeepSeek and Z.ai reasoning_content of
// turns with calls, OpenRouter reasoning_details, whose calls are shown once the turn is
// complete, since details may come behind them. What a dialect cannot say is an error of
// the request, and of Check: a forced call with Z.ai, a budget of reasoning anywhere but
// with OpenRouter, a level that OpenAI, Groq or xAI is known to refuse for the model; what
// a server takes that we think it does not goes through provider_options. DeepSeek does not
// reason in a request that forces a call, as it allows no other. With Mistral, context in
// the middle is said as a person, and a short turn stands between a result and what a
// person says next. Arguments that were no JSON object go back within one, since servers
// parse them.
//
// A response format that is strict is enforced by the provider, which knows no optional
// properties: what the schema has as optional goes out as required and nullable, without
// other properties, and the runtime reads such a null as left out. A schema that has
// no such form goes out as it is, not strict: objects with properties that it does not
// name, values of any type, a root that is no object, and keywords other than types,
// enumerations, anyOf, definitions, items and bounds of numbers, lists and patterns. Tools
// are never strict, so that their optional arguments stay optional.
//
// Of streams, all dialects expect all of it: tool calls are told apart by index, and by
// id where a server leaves the index out or always says 0; arguments may come whole or in
// pieces; calls that are there count even when the finish reason is "stop". Usage is
// overwritten by each report, never added. Comments, unknown fields, a second finish
// reason and an error inside a stream that began with 200 are common.
//
// # The Responses API
//
// Requests say store: false, so that the server keeps nothing: the model's reasoning
// comes encrypted, is kept with the turn as its echo, and goes back to the same model of
// the same provider, never without the text or call that followed it. Stop sequences have
// no form there.
//
// # What is not here
//
// Azure keys go out as a bearer token only. Reasoning that Groq, xAI, Mistral, vLLM,
// llama.cpp and Ollama stream is shown and not sent back. llama.cpp and vLLM allow
// parallel calls as they were started, or as provider_options say.
//
// The package was seen over HTTP against fake servers only (the tests' own and an
// independent one, see scripts/verify/clients/models), not against a live provider; transcripts
// of dialects have the shape of references and recordings that their first lines name.
package openai
