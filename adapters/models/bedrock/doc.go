// Package bedrock is a model provider over Amazon Bedrock's ConverseStream, by the
// AWS SDK's client with its own retries off.
//
// [New] makes a model, which implements model.Model and model.Checker. It makes
// one attempt an inference; whoever calls it repeats. Its client is made at the
// first inference, since a function that never infers should not pay for it. Every
// failure of the provider is a *model.Error whose kind says whether waiting can
// help; a stream that ends before its messageStop is an error of
// kind model.KindInterrupted: the SDK itself takes a connection that
// broke off for the end of the stream.
//
// The name of a model is a model id, the id of an inference profile, or the ARN of
// either. What differs between families of models (thinking, effort, cache points)
// goes by the family's name inside it; of a name without one, such as that of an
// application inference profile, only what all models take is sent, and the rest is
// given as provider options.
//
// # What is sent back
//
// Reasoning goes back with its signature, or as the bytes that the provider has
// redacted, to the model that made it alone. Claude from 5.1 on is given none back: it
// binds its reasoning to what stood before it, and how Converse is told to drop what has
// become void is not known here.
//
// Claude finishes a tool loop that another model has said a part of, or within a budget
// one that began without reasoning, with thinking off, at the same level. So it makes a
// call that is forced; where it refuses to be forced, the choice becomes auto.
//
// # Provider options
//
// guardrailConfig, performanceConfig, serviceTier and requestMetadata, as the API's
// reference has them; every other name is a field of the model's own request, as are
// the members of additionalModelRequestFields.
//
// # What is not here
//
// Videos, sounds, citations and files by their address, but for images and documents
// in S3. A choice of no tools, which the API has no form for.
//
// The package was seen over HTTP against fake servers only (transcripts in testdata, and an
// independent one, see scripts/verify/clients/models), not against AWS.
package bedrock
