// Package bedrock is a model provider over Amazon Bedrock's ConverseStream, by the AWS
// SDK's client without the SDK's retries.
//
// [New] makes a model, which implements model.Model and model.Checker. It makes one
// attempt per inference; the caller retries. Its client is made at the first inference,
// so that a function without inferences does not pay for it. Every failure of the
// provider is a *model.Error whose kind shows whether waiting can help. A stream that
// ends before its messageStop is an error of kind model.KindInterrupted: the SDK itself
// treats a broken connection as the end of the stream.
//
// The name of a model is a model id, the id of an inference profile, or the ARN of
// either. The differences between families of models (thinking, effort, cache points)
// follow from the family's name inside it. If a name contains no family, as that of an
// application inference profile, the request has only what all models accept; use
// provider options for the rest.
//
// # Reasoning
//
// Reasoning is returned with its signature, or as the bytes that the provider has
// redacted, only to the model that made it. Claude from 5.1 on gets no reasoning back: it
// binds its reasoning to the text before it, and Converse has no known option to drop
// invalid reasoning.
//
// Claude finishes some tool loops with thinking off, at the same level: a loop to which
// another model contributed, and, with a budget, a loop that started without reasoning. A
// forced call is made with thinking off, too. For models that refuse forced calls, the
// choice becomes auto.
//
// # Provider options
//
// guardrailConfig, performanceConfig, serviceTier and requestMetadata have the form of
// the API's reference. Every other name is a field of the model's own request, as are the
// members of additionalModelRequestFields.
//
// # Limits
//
// Videos, sounds, citations and files by their address are not supported, except images
// and documents in S3. The API cannot express a choice of no tools.
//
// The package was tested over HTTP against fake servers only (transcripts in testdata,
// and an independent one, see scripts/verify/clients/models), not against AWS. It reads
// streams in the shape of public recordings as the provider's npm package does, see
// scripts/verify/clients/recorded.
package bedrock
