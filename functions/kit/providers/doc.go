// Package providers binds the model in the settings. [Bind] makes the model of
// REVEILLE_MODEL, in the form PROVIDER/NAME, and [Adapters] lists the adapters of all
// providers, for models in spec files. The AWS SDK of Bedrock is linked only with the build
// tag bedrock. Package app/models uses this package. A program that needs a single provider
// calls New of that provider's package, or names its Adapter, and links no other provider.
//
// Without REVEILLE_MODEL, the model is the default model of the provider whose key is set.
// Without any key, it is the scripted model. An ambiguous choice is an error, such as two
// keys without REVEILLE_MODEL, or a provider without its key.
package providers
