// Package agent says what an agent is. A [Spec] is its data: prompt, parameters of
// the model, tools and plugins by name. [Parts] hold specs beside the code that they name.
// Everything is resolved once when the host is made of them, so a spec that names what does
// not exist fails at start.
//
// # From an agent to its model
//
// A spec names a model. That is code (Models of [Parts]), or data: a [ModelSpec], or a
// [ModelPoolSpec] whose members are models. A model names its provider, a
// [ProviderSpec], and that an adapter, the code that speaks its protocol (Adapters of
// [Parts]). Of a pool each thread has a home among the members, which a run leaves for
// another member as its [PoolSwitch] says.
//
// # Tools
//
// An agent has the registry's tools and its plugins', as far as AllowedTools (names)
// and AllowedToolPatterns allow them, without those that ExcludedTools and
// ExcludedToolPatterns name: what is excluded is so whatever is allowed. A spec that says
// nothing of what is allowed allows everything. A pattern of up to 1 KiB matches a whole
// name; * stands for any characters, none included, \ takes its meaning from the
// character behind it, and every other character stands for itself.
//
// # What fails, and what is a warning
//
// Decoding is strict, and a name of nothing is an error: an unknown field, a model,
// plugin, delegate or tool that does not exist, a plugin that no agent names. What
// has no effect and may be meant so, such as a pattern that matches no tool, is a
// warning in the log, and an error in a spec that is strict.
//
// # Plugins and their settings
//
// The plugins that a spec names register for this agent alone, in that order. Sections
// are their settings: each is read by the plugin that declares it (plugin.Section), and
// one that no plugin reads is a warning. With active_hook_filter only the named ones run
// hooks, gates, transforms and tools.
//
// # What ends a run
//
// A [StopPolicy] looks at each step of a run and may end the run, with a code that
// clients read in the run's termination. Policies come from four places and are
// asked in this order; the first one that stops counts:
//
//  1. max_rounds of the agent's spec, 16 when it says nothing;
//  2. the list stop of the spec, as data: [StopSpec];
//  3. Stops of [Parts], for all agents of a registry;
//  4. Stops of the runtime's configuration, for all runs of a program.
//
// A policy is asked
//
//   - when a turn of the model is committed, and before any of its tools runs: a
//     stop gives each of its calls a result that says that it was not executed;
//   - once more when all calls of the turn have failed, with the failed step
//     counted in [StopView.ErrorSteps];
//   - when a turn has no calls, before the run comes to its natural end;
//   - when the model has failed for good in a step, in a run that tolerates this
//     ([StopTolerant]): then there is no turn, and [StopView.Failed] says why.
//
// A turn without calls is an answer: the run ends by itself. A limit has nothing to
// add to that, and an answer that came a second too late is an answer. So
// max_rounds, timeout, token_budget, stop_on_tool and consecutive_errors never
// stop at one; while people go on to speak to the run, it answers. content_match
// and loop_detection judge what is said, and do stop there: the run then ends as
// stopped and not by itself, and input that it has not read yet becomes a run of
// its own. A policy of one's own does as it likes: [StopView.GoesOn] tells the two
// apart.
//
// A [StopView] is made of what is stored: the run's record, the totals in its newest
// turn, and the messages in the window. Its clock is the turn's own time. Another
// process that takes the turn over, a minute or a week later, asks again and has
// to come to the same, so a policy reads no clock, keeps no state and
// asks nobody else. It is called from several runs at once. The built-in policies that
// look at more than the turn get it from the totals alone, which a run of any length
// has; [StopView.Turns] reaches only as far as the context window does.
//
// Any function of a view is a policy, by [StopFunc]. A
// panic ends the run with the error stop_policy, and only that run.
//
// # Specs as text
//
// Package specfile reads files of YAML and JSON, with places in its errors, and describes
// them as JSON Schema.
//
// # History
//
// An agent's data is stored when a run begins. So a run ends with the agent that it began
// with: the data of then with the code of today.
package agent
