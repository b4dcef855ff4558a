// Package providers makes models of the providers that the settings name: [Bind] the one
// that REVEILLE_MODEL says, as PROVIDER/NAME, and [Adapters] what specs of providers name.
// Each provider is a file of its own here; Bedrock's AWS SDK is linked by the build tag
// bedrock only. Package app/models uses it, and a program that wants one provider alone
// calls that adapter itself and links no other.
//
// Without REVEILLE_MODEL the provider whose key is set has its default model, and without
// any key the scripted model speaks. What is ambiguous is an error: two keys, a key whose
// provider nobody names, a provider without its key.
package providers
