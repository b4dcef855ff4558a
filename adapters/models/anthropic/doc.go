// Package anthropic is a model provider over the Messages API of Anthropic, streamed, and
// of the servers that speak it.
//
// [New] makes a model, which implements model.Model and model.Checker over net/http
// alone. It makes one attempt an inference; whoever calls it repeats. Every failure of the
// provider is a *model.Error whose kind says whether waiting can help; a stream that ends
// before its message_stop is an error of kind model.KindInterrupted, never a turn.
//
// What a model takes (thinking, levels, sampling, a forced choice, a response format) goes
// by the beginning of its name. A Claude model that the package does not know is taken for
// one of the newest, any other for one that thinks within a budget when it is asked to.
//
// # Requests
//
// The API wants a limit of the turn's tokens. Without one it is 32,000, 64,000 with the
// effort max, plus the budget of reasoning if the effort is one, and never more than the
// model can; thinking counts towards it.
//
// Messages of one side in a row become one, results first in it. Plugins' context in front
// of the conversation is part of the system prompt, elsewhere text of the user's message.
// Names of calls that this API does not take, which other models may have made up, have _
// for what it refuses. Calls of a history without tools bring their tools along, and none
// may be called.
//
// A forced choice of tools becomes auto where the model thinks and cannot be forced
// meanwhile: that is within a budget, and of the newest models those that always think.
// Temperature and top_p beside reasoning, of models that take neither, and both of models
// that take one of them (from Opus 4.1 on) are errors.
//
// A response format is output_config.format, which is always enforced, strict or not. Its
// objects are closed; bounds of numbers, lengths and lists, which the API refuses, stand in
// the descriptions instead, and are for whoever reads the response to check.
//
// # Thinking
//
// An effort is a level of adaptive thinking, or, of models that have no levels, a budget:
// low 2,048, medium 8,192, high 16,384, max 32,768 tokens, and no more than three quarters
// of the limit. A limit without room for the smallest budget, 1,024, is without thinking.
// Models that cannot be kept from thinking take none for low.
//
// Thinking and redacted thinking go back to the model that made them as they came, in front
// of the calls of their turn; another's is left out. A tool loop that another model has said
// a part of, or within a budget one that began without thinking, is finished with thinking
// off, where the model can be kept from it; its level stays. A request without thinking has
// none of it.
//
// The newest models bind their thinking to what stood before it. Context of plugins that is
// there in one step only, windows and summaries change that; the adapter asks them to drop
// what has become void instead of refusing it, for which they need a beta feature, which it
// names. So with such context these models lose their thoughts from step to step.
//
// # Prompt cache
//
// At most four marks: on the last tool, the agent's system prompt, and the ends of the last
// two messages of the user's side, in front of context that may be gone in the next
// request. model.Request.NoPromptCache leaves them out.
//
// # What is not here
//
// The provider's own tools (search, code), citations, files by id, and a time to live of
// the cache other than the provider's own. Results of tools are text.
//
// The package was seen over HTTP against fake servers only (transcripts in testdata, and an
// independent one, see scripts/verify/clients/models), not against the live provider.
package anthropic
