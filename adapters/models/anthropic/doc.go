// Package anthropic is a model provider over the Messages API of Anthropic, streamed, and
// of other servers with that API.
//
// [New] makes a model, which implements model.Model and model.Checker with only net/http.
// It makes one attempt per inference; the caller retries. Every failure of the provider
// is a *model.Error whose kind shows whether waiting can help. A stream that ends before
// its message_stop is an error of kind model.KindInterrupted, never a turn.
//
// The features of a model (thinking, levels, sampling, a forced choice, a response
// format) follow from the start of its name. An unknown Claude model is treated as one of
// the newest models, any other unknown model as one that thinks within a budget if the
// request asks for it.
//
// With [Options].Vertex it makes Claude on Vertex AI: the path names the model, and keys are
// access tokens of Google, which package adapters/models/gemini/vertex gets.
//
// # Requests
//
// The API requires a limit of the turn's tokens. The default is 32,000, or 64,000 with
// the effort max, plus the budget of reasoning if the effort is one, and never more than
// the model's limit; thinking counts towards it.
//
// Consecutive messages of one side become one message, with results first. Context of
// plugins before the conversation is part of the system prompt; elsewhere it is text of
// the user's message. Other models may have invented names of calls that this API
// refuses; _ replaces the refused characters. If the history has calls but the request
// has no tools, the tools of these calls are sent, and the model may call none of them.
//
// A forced choice of tools becomes auto if the model thinks and cannot be forced while it
// does: models that think within a budget, and the newest models that always think.
// Errors are: temperature or top_p with reasoning, temperature or top_p for models that
// accept neither, and both for models that accept one of them (from Opus 4.1 on).
//
// A response format is output_config.format, which is always enforced, strict or not. Its
// objects are closed. The API refuses bounds of numbers, lengths and lists, so these are
// in the descriptions instead, and the reader of the response must check them.
//
// # Thinking
//
// An effort is a level of adaptive thinking. For models without levels it is a budget:
// low 2,048, medium 8,192, high 16,384, max 32,768 tokens, and no more than three
// quarters of the limit. If the limit has no room for the smallest budget, 1,024, the
// model does not think. For models whose thinking cannot be turned off, none becomes low.
//
// Thinking and redacted thinking are returned unchanged to the model that made them,
// before the calls of their turn; the thinking of another model is omitted. Some tool
// loops are finished with thinking off, if the model allows that: a loop to which another
// model contributed, and, with a budget, a loop that started without thinking. The level
// stays. A request without thinking contains no earlier thinking.
//
// The newest models bind their thinking to the text before it. Context of plugins for a
// single step, windows and summaries change that text. The adapter asks these models to
// drop invalid thinking instead of refusing the request, by a beta feature that it names.
// So with such context these models lose their thoughts from step to step.
//
// # Prompt cache
//
// A request has at most four marks: on the last tool, on the agent's system prompt, and
// on the ends of the last two messages of the user's side, before context that the next
// request may not have. model.Request.NoPromptCache omits them.
//
// # Limits
//
// The package does not support the provider's own tools (search, code), citations, files
// by id, or a time to live of the cache other than the provider's default. Results of
// tools are text.
//
// The package was tested over HTTP against fake servers only (transcripts in testdata,
// and an independent one, see scripts/verify/clients/models), not against the live
// provider. It reads streams in the shape of public recordings as the provider's npm
// package does, see scripts/verify/clients/recorded.
package anthropic
