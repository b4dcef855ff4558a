// Package openai is a model provider over the two APIs of OpenAI, streamed.
//
// [New] makes a model over Chat Completions, which many servers implement: OpenAI,
// Azure's v1 endpoint, Groq, OpenRouter, DeepSeek, Z.ai, xAI, Mistral, vLLM, llama.cpp,
// Ollama. With [DialectResponses] it uses the Responses API, which keeps the reasoning of
// OpenAI's models from step to step. [Adapter] and [Dialect.Adapter] make models of
// providers that are data. Both implement model.Model and model.Checker with only
// net/http. They make one attempt per inference; the caller retries. Every failure of the
// provider is a *model.Error whose kind shows whether waiting can help. A stream that
// ends before its turn does is an error of kind model.KindInterrupted, never a turn.
//
// # Differences between servers
//
// A [Dialect] defines a server's names for the token limit and the effort, whether it
// accepts a schema (otherwise the system prompt asks for matching JSON), which calls can
// be forced, and which reasoning must be returned to it. DeepSeek and Z.ai require the
// reasoning_content of turns with calls. OpenRouter requires reasoning_details; its calls
// are shown when the turn is complete, since details may follow them. If a dialect cannot
// express a request, the request and Check return an error: a forced call with Z.ai, a
// budget of reasoning except with OpenRouter, a level that OpenAI, Groq or xAI is known
// to refuse for the model. If a server supports more than this package expects, use
// provider_options. Mistral receives PDF as document_url. A request that forces a call of DeepSeek disables its reasoning,
// since DeepSeek does not allow both. With Mistral, context in the middle of a
// conversation has the role user, and a short assistant turn separates a tool result from
// the next user message. Malformed arguments are returned within a JSON object, since
// servers parse them.
//
// A response format that is strict is enforced by the provider, which knows no optional
// properties. So optional properties of the schema are sent as required and nullable,
// without additional properties, and the runtime reads such a null as an absent value.
// Some schemas have no such form and are sent unchanged, not strict: objects with
// properties that they do not name, values of any type, a root that is not an object, and
// keywords other than types, enumerations, anyOf, definitions, items and bounds of
// numbers, lists and patterns. Tools are never strict, so that their optional arguments
// stay optional.
//
// In streams, all dialects accept all variants. Tool calls are identified by index, or by
// id if a server omits the index or always sends 0. Arguments may arrive whole or in
// pieces. Calls count even if the finish reason is "stop". Usage is overwritten by each
// report, never added. Comments, unknown fields, a second finish reason and an error
// inside a stream that started with 200 are common.
//
// # The Responses API
//
// Requests have store: false, so that the server keeps nothing. The model's reasoning
// arrives encrypted, is kept with the turn as its echo, and is returned to the same model
// of the same provider, never without the text or call that followed it. The same applies
// to reasoning in plain text, which vLLM sends. Other hosts than OpenAI receive the id of
// the reasoning, too, as the API's schema requires. The phase of a text (commentary or
// final_answer) is kept and returned with it. Stop sequences are not supported.
//
// # Limits
//
// Azure keys are sent only as a bearer token. Reasoning that Groq, xAI, Mistral, vLLM,
// llama.cpp and Ollama stream is shown and not sent back. llama.cpp and vLLM allow
// parallel calls according to their start options, or to provider_options.
//
// The package was tested over HTTP against fake servers only (the tests' own and an
// independent one, see scripts/verify/clients/models), not against a live provider. It
// reads streams in the shape of public recordings of many servers as their npm packages
// do, see scripts/verify/clients/recorded.
// Transcripts of dialects follow references and recordings that their first lines name.
package openai
