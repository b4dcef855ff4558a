// Package reveille is the one import that most programs need: it runs agents, and has what
// agents are made of.
//
// # Running an agent
//
// [New] makes a [Runtime] of agents, models, tools and plugins. [Runtime.Run] says something
// to an agent and returns what became of it; [Runtime.Events] yields the same as it happens.
//
//	r, err := reveille.New(reveille.Parts{
//		Specs:  []reveille.AgentSpec{{ID: "guide", Model: "m", SystemPrompt: "Be brief."}},
//		Models: reveille.Models{"m": {Model: m, Name: "gpt-5-mini"}},
//	}, nil)
//	result, err := r.Run(ctx, reveille.Input{Text: "What is the capital of Norway?"})
//
// Result.Next continues the thread. [Answer] asks for a Go value in place of a text. A
// provider's package makes the model: for example, adapters/models/openai.
//
// # Calls that wait
//
// A tool whose spec has an Approval, a permission rule, a gate and a client's tool let a call
// wait. Run returns then, with the calls' Tickets; nothing runs while they wait.
// [Runtime.Decide] decides them with [Approve], [Deny] or [Reply], and [Runtime.Wait] returns
// what the run came to. [Runtime.Approvals] lists all calls that wait for a person.
//
// # From memory to a store
//
// Without options everything is in memory and ends with the program. With a Store, such as
// that of adapters/stores/bolt, threads outlive it, and every step of a run is durable once
// it is over:
//
//	store, err := bolt.Open("agents.db", bolt.Options{})
//	r, err := reveille.New(parts, &reveille.Options{Store: store})
//	err = r.Work(ctx) // until ctx ends: runs that were submitted, and those that a crash left
//
// Whoever waits for a run takes its steps: Run, Events, Wait and Follow need no worker.
// [Runtime.Work] takes those of runs that nothing waits for: from [Runtime.Submit], or left
// behind by a process that ended.
//
// [Runtime.Host] is what protocol adapters serve, in a server of your own too: see the
// example of adapters/protocols/httpapi.
//
// # Tools and plugins
//
// [NewTool] makes a tool of a function; the schema that the model sees is inferred from its
// arguments. [NewClientTool] makes one that the client runs. [NewPlugin] makes a plugin, whose
// hooks read a [Snapshot] and return a [Command]. Its state has keys: [Counter], [Value],
// [List] and [Map].
//
// # Where the rest is
//
// Most names are aliases of types in the packages below core, which have their methods and
// fields: core, agent, tool, plugin, state, host and plugins/permission. What is rarer stands
// there alone. Package reveilletest tests agents.
package reveille
