// Package agent says what an agent is. A [Spec] is its data: prompt, parameters of
// the model, tools and plugins by name. A [Registry] holds specs beside the code that
// they name and resolves an id to a [Resolved] agent, which never changes while a run
// uses it. Everything is resolved once when the registry is built, so a spec that
// names what does not exist fails at start.
//
// # From an agent to its model
//
// A spec names a model. That is code ([Parts.Models]), or data: a [ModelSpec], or a
// [ModelPoolSpec] whose members are models. A model names its provider, a
// [ProviderSpec], and that an adapter, the code that speaks its protocol
// ([Parts.Adapters]). [Resolved.ModelOf] returns what a thread's run calls.
//
// # Tools
//
// An agent has the registry's tools and its plugins', as far as AllowedTools (names)
// and AllowedToolPatterns (see [ParseToolPattern]) allow them, without those that
// ExcludedTools and ExcludedToolPatterns name: what is excluded is so whatever is
// allowed. A spec that says nothing of what is allowed allows everything.
//
// # What fails, and what is a warning
//
// Decoding is strict, and a name of nothing is an error: an unknown field, a model,
// plugin, delegate or tool that does not exist, a plugin that no agent names. What
// has no effect and may be meant so, such as a pattern that matches no tool, is a
// [Warning], and an error in a spec that is strict.
//
// # Changes and history
//
// A [Patch] changes fields of a spec ([Merge]). [Resolved.Content] is an agent's data
// as bytes, which its hash names: stored, it can be resolved again later, with the code
// of that day ([Registry.ResolveContent]). Package specfile reads specs from files, and
// the functions that end in Schema describe them as JSON Schema.
package agent
