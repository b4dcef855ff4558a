// Package providers binds the model that the settings name: [Bind] makes the one that
// REVEILLE_MODEL says, as PROVIDER/NAME, and [Adapters] lists the adapters of all providers
// for models that are data. Bedrock's AWS SDK is linked by the build tag bedrock only.
// Package app/models uses it. A program that wants one provider alone calls that package's
// New or names its Adapter, and links no other.
//
// Without REVEILLE_MODEL the provider whose key is set has its default model, and without
// any key the scripted model speaks. What is ambiguous is an error: two keys, a key whose
// provider nobody names, a provider without its key.
package providers
