// Package agent defines agents. A [Spec] is the data of an agent: its prompt, the parameters
// of its model, and the names of its tools and plugins. [Parts] holds specs and the code that
// they name. The host resolves all of it once, when it is made. So a spec with an unknown
// name fails at start.
//
// # From an agent to its model
//
// A spec names a model. The model is code (Models of [Parts]), or data: a [ModelSpec], or a
// [ModelPoolSpec] whose members are models. A model names its provider, a [ProviderSpec]. The
// provider names an adapter, the code for its protocol (Adapters of [Parts]). In a pool each
// thread has a home among the members. A run changes to another member under the conditions
// of [PoolSwitch].
//
// # Tools
//
// An agent has the tools of the registry and of its plugins. AllowedTools (names) and
// AllowedToolPatterns restrict them. If neither is set, all tools are allowed; an empty list
// is set and allows none. ExcludedTools and ExcludedToolPatterns remove tools, even allowed
// ones. A pattern has up to 1 KiB and matches a whole name. In a pattern, * matches any
// characters or none, and \ makes the next character literal. All other characters match
// themselves.
//
// # Errors and warnings
//
// Decoding is strict. An unknown field is an error, and so is an unknown model, plugin,
// delegate or tool. A plugin that no agent names is also an error. A setting without effect
// that may be intended, such as a pattern that matches no tool, is a warning in the log. In
// a strict spec it is an error.
//
// # Plugins and their settings
//
// The plugins that a spec names are registered for this agent alone, in that order. Sections
// are their settings. Each plugin reads the sections that it declares (plugin.Section), and
// a section that no plugin reads is a warning. If active_hook_filter is set, only the plugins
// that it names run hooks, gates and transforms and offer tools.
//
// # Stop policies
//
// A [StopPolicy] judges each step of a run and can end the run, with a code that clients
// read in the run's termination. The runtime calls the policies in this order, and the first
// one that stops the run decides:
//
//  1. max_rounds of the agent's spec; the default is 16;
//  2. the list stop of the spec, as data: [StopSpec];
//  3. Stops of [Parts], for all agents of a registry;
//  4. Stops of the runtime's configuration, for all runs of a program.
//
// The runtime calls a policy
//
//   - after a turn is committed, and before its tools run: if the policy stops the run, each
//     call gets the result that it was not executed;
//   - again when all calls of the turn have failed: the failed step is then counted in
//     [StopView.ErrorSteps];
//   - when a turn has no calls, before the natural end of the run;
//   - when a step's model calls have all failed, if the run tolerates that ([StopTolerant]):
//     then there is no turn, and [StopView.Failed] is the kind of the failure.
//
// A turn without calls is the final response, and the run ends naturally. A limit that is
// reached at that moment has no use. So max_rounds, timeout, token_budget, stop_on_tool and
// consecutive_errors never stop a run at such a turn. content_match and loop_detection judge
// the text, and do stop there. The run then ends as stopped, and its unread input starts a
// new run. Your own policy can do either: [StopView.GoesOn] reports whether the run would
// continue.
//
// A [StopView] is made of stored data: the run's record, the totals in its newest turn, and
// the messages in the window. Its clock is the time of the turn. Another process that takes
// the turn over, a minute or a week later, calls the policy again and must get the same
// verdict. So a policy reads no clock, keeps no state and uses no other source. Several runs
// call it concurrently. The built-in policies read earlier turns from the totals, which are
// complete for runs of any length. [StopView.Turns] is limited to the context window.
//
// [StopFunc] makes a policy from any function of a view. A panic ends only that run, with the
// error stop_policy.
//
// # Specs as text
//
// Package specfile reads specs from YAML and JSON files. Its errors name the place in the
// file. It also describes the format as JSON Schema.
//
// # History
//
// The runtime stores an agent's data when a run starts, and the run keeps that data until it
// ends. The code of tools and plugins is that of the running program.
package agent
