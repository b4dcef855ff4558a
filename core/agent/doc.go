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
// ([Parts.Adapters]). [Resolved.ModelOf] returns what a thread's run calls: of a pool
// the thread's home. When a run leaves that for another member, as [PoolSwitch] says,
// is package run's to decide, in the order of [Pool.Order].
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
// # Plugins and their settings
//
// The plugins that a spec names register for this agent alone, in that order. Sections
// are their settings: each is read by the plugin that declares it (plugin.Section), and
// one that no plugin reads is a warning. With active_hook_filter only the named ones run
// hooks, gates, transforms and tools. What ends a run, besides max_rounds, are the stop
// policies of the spec and those of [Parts]; see package stop.
//
// # Specs as text
//
// [DecodeSpec], [DecodeModel], [DecodePool] and [DecodeProvider] read JSON; package
// specfile reads files of YAML and JSON, with places in its errors. The functions that
// end in Schema describe all of them as JSON Schema. A [Patch] changes fields of a spec
// ([Merge]): an absent field leaves what stands there, null brings the default back.
//
// # History
//
// [Resolved.Content] is an agent's data as bytes, without keys, and [Resolved.Hash] its
// name. [Pins] stores the content when a run begins, and resolves a hash to the agent
// that it names ([Registry.ResolveContent]): the data of then with the code of today. So
// a run ends with the agent that it began with. [Resolved.Played] is an agent for a
// replay, whose model and tools say what was recorded.
package agent
