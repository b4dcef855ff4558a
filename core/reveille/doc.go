// Package reveille is the one import that most programs need: it defines agents and runs them.
//
// # Running an agent
//
// [New] makes a [Runtime] of agents, models, tools and plugins. [Runtime.Run] sends input to an
// agent and returns the result; [Runtime.Events] yields the events of the run as they happen.
//
//	r, err := reveille.New(reveille.Parts{
//		Specs:  []reveille.AgentSpec{{ID: "guide", Model: "m", SystemPrompt: "Be brief."}},
//		Models: reveille.Models{"m": {Model: m, Name: "gpt-6-luna"}},
//	}, nil)
//	result, err := r.Run(ctx, reveille.Input{Text: "What is the capital of Norway?"})
//
// Result.Next continues the thread. [Answer] returns a value of your type instead of a text. A
// provider's package makes the model: for example, adapters/models/openai.
//
// # Calls that wait
//
// A call waits if its tool's spec has an Approval, if a permission rule or a gate asks, or if
// the client runs the tool. Run then returns the Tickets of the calls, and nothing runs until a
// decision arrives. [Runtime.Decide] takes decisions made by [Approve], [Deny] or [Reply].
// [Runtime.Wait] returns the result of the continued run. [Runtime.Approvals] lists all calls
// that wait for a decision.
//
// # From memory to a store
//
// Without options, everything is in memory and ends with the program. With a Store, such as the
// one of adapters/stores/bolt, threads outlive the program, and every completed step of a run
// is durable:
//
//	store, err := bolt.Open("agents.db", bolt.Options{})
//	r, err := reveille.New(parts, &reveille.Options{Store: store})
//	err = r.Work(ctx) // until ctx ends: runs that were submitted, and those that a crash left
//
// A call that waits for a run also takes its steps: Run, Events, Wait and Follow need no
// worker. [Runtime.Work] takes the steps of all other runs: those of [Runtime.Submit], and
// those that a crashed process abandoned.
//
// [Runtime.Host] is the value that protocol adapters serve, also in your own server: see the
// example of adapters/protocols/httpapi.
//
// # Tools and plugins
//
// [NewTool] makes a tool of a function. It infers the schema that the model sees from the
// function's arguments. [NewClientTool] makes a tool that the client runs. [NewPlugin] makes a
// plugin; its hooks read a [Snapshot] and return a [Command]. [Counter], [Value], [List] and
// [Map] make the keys of its state.
//
// # Other packages
//
// Most names are aliases of types in the packages below core, which document their methods and
// fields: core, agent, tool, plugin, state, host and plugins/permission. Rarer types exist only
// there. Package reveilletest tests agents.
package reveille
