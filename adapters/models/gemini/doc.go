// Package gemini is a model provider over the Gemini API, streamed, of Google's Gemini
// Developer API and of Vertex AI.
//
// [New] makes a model, which implements model.Model over net/http alone. It makes one
// attempt an inference; whoever calls it repeats. Every failure of the provider is a
// *model.Error whose kind says whether waiting can help; a stream that ends before its
// finish reason is an error of kind model.KindInterrupted, never a turn.
//
// # Signatures
//
// Gemini signs parts of its turns: the first of the calls that it makes together, a
// thought, the end of a text. A signature is kept as the echo of the call, or of a
// reasoning block, which is empty where a text was signed and stands right behind it. It
// goes back on the same part, to the same model of the same provider. Gemini 3 refuses
// calls without one: those that another model made have the value that the provider
// documents for them.
//
// # Thinking
//
// How much a model thinks is a level from Gemini 3 on and a number of tokens for Gemini
// 2.5; efforts are given in the form that the name of the model asks for, and none in any
// form is an error of Check for the others. Thoughts are streamed where an effort is
// asked for; without one, provider_options may ask with generationConfig.thinkingConfig.
//
// # What is not here
//
// The provider's own tools can be asked for in provider_options by agents without tools
// of their own; what they did in between has no block and is not sent back. Arguments of
// calls come whole. Cached contents have to be named by provider_options; what the
// provider caches by itself needs nothing.
//
// The package was seen over HTTP against fake servers only, not against a live provider.
package gemini
