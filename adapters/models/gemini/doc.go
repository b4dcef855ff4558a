// Package gemini is a model provider over the Gemini API, streamed, of Google's Gemini
// Developer API and of Vertex AI.
//
// [New] makes a model, which implements model.Model with only net/http. It makes one
// attempt per inference; the caller retries. Every failure of the provider is a
// *model.Error whose kind shows whether waiting can help. A stream that ends before its
// finish reason is an error of kind model.KindInterrupted, never a turn.
//
// [VertexAdapter] makes models of Vertex AI with an API key; package vertex makes them with
// Google's own credentials.
//
// # Signatures
//
// Gemini signs parts of its turns: the first of several parallel calls, a thought, the
// end of a text. A signature is kept as the echo of the call or of a reasoning block. If
// a text was signed, that block is empty and directly follows the text. The signature is
// returned on the same part, to the same model of the same provider. Gemini 3 refuses
// calls without a signature: calls of another model get the value that the provider
// documents for them.
//
// # Thinking
//
// The amount of thinking is a level from Gemini 3 on and a number of tokens for Gemini
// 2.5; the model's name decides the form of an effort. For other models, an effort is an
// error of Check. Thoughts are streamed if an effort is set; without one,
// provider_options may ask for them with generationConfig.thinkingConfig.
//
// # Limits
//
// Agents without tools can use the provider's own tools by provider_options; their
// intermediate results have no block and are not sent back. Arguments of calls arrive
// whole. Cached contents must be named by provider_options; the provider's implicit
// caching needs no option.
//
// The package was tested over HTTP against fake servers only, not against a live
// provider. It reads streams in the shape of public recordings as the provider's npm
// package does, see scripts/verify/clients/recorded.
package gemini
