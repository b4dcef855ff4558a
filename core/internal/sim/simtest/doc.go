// Package simtest tests your agent against crashes: if any process dies, stops, or gets no
// response, at any moment, the outcome of the agent must be the same.
//
//	func TestAgent(t *testing.T) {
//		parts := func() (agent.Parts, error) {
//			return agent.Parts{
//				Specs:  []agent.Spec{{ID: "shop", Model: "m"}},
//				Models: map[string]agent.ModelBinding{"m": {Model: model.None{}}},
//				Tools:  []tool.Tool{newRefund(), newMail()},
//			}, nil
//		}
//		simtest.Run(t, parts,
//			simtest.Scenario{Name: "refund", Person: []simtest.Act{
//				simtest.Say(`call: refund {"order":"4711"}`),
//				simtest.Approve(),
//			}},
//			simtest.Scenario{Name: "refund and mail", Person: []simtest.Act{simtest.Say("Give it back.")}, Turns: []scripted.Turn{
//				{Calls: []core.ToolCall{scripted.Call("refund", order{"4711"}), scripted.Call("mail", order{"4711"})}},
//				{Text: "You have it back."},
//			}},
//		)
//	}
//
// Your tools, hooks, gates, transforms and handlers are the real ones, and so is the
// runtime. The models are replaced by a scripted one (package scripted): the person's
// message decides which tool it calls, unless the scenario has Turns. Each world, which is
// one simulated run of a scenario, has a separate store, queue and clock, in a bubble of
// testing/synctest, so that hours of waiting take no time.
//
// # Worlds
//
// A scenario is played without faults first. Then each I/O point that was passed (package
// env has their names) is struck in a separate world, by each fault that can happen there:
// the process dies before or after it; the operation fails, or is done and its response
// lost; a message gets lost; the process pauses for longer than its lease, while another
// one takes over, and then continues; a message or request comes twice. Some hundred worlds
// are a second's work.
//
// # Mistakes that it finds
//
// Each mistake fails the test and is named once, with the earliest world that shows it:
//
//   - A tool that does its work twice. It ran twice for one call, and did not ask for
//     Call.Key, nor keep a part by Call.Once, nor start a child or read its end. A tool
//     that changes nothing outside of its run declares that by ReadOnly in its Spec, one
//     that must never run twice is AtMostOnce.
//   - Code that reads the clock by itself: its outcome differs if only the clock of the
//     process differs. Context.Now and Call.Now are the same in all worlds.
//   - Code that uses its own randomness, or keeps state in a variable of its package: the
//     same world twice is not the same. To tell the two apart the test's program is started
//     again, for this one test.
//   - State that does not survive a takeover: a plugin or tool that keeps a value in
//     memory, and has another outcome in a process that took over.
//   - An effect that a crash has lost, although its command has also changed the state,
//     which now records that it happened. Effects happen at most once: work that must
//     happen is a tool's. Effects that change no state with them are not reported, and
//     neither are those of [Options].MayBeLost.
//   - Every other mistake: a run that does not end, or asks for a turn that the scenario's
//     Turns do not have, a call without its one result, input that was accepted and is
//     missing, a log that differs from the one without faults, and the findings of a Check.
//
// The first mistake of each kind is named in the order of the calls, since a later one may
// follow from it. Once it is fixed, the next shows.
//
// A failure has the command for its world alone: each is a subtest, named by scenario,
// point, passing and fault, such as TestAgent/refund/W7.1/crash_after.
//
// # The outside
//
// Each process of a world has its own parts. A substitute for the outside, such as a bank
// that tools book at, must outlive them: [RunWorlds] makes it for each world, and its Check
// reads it at the end. Two processes may use it concurrently.
//
// # Limits
//
//   - Work is not checked: a tool that asks for its key and does not use it passes. A Check
//     on the outside finds that.
//   - Goroutines that the parts start must end, and so must connections: a world waits for
//     all of them. Replace services that tools call over the network by values in memory.
//   - People act in one thread. A world waits for the threads of children that its calls
//     start, and compares them like it, but takes no decisions there. Steps run in the
//     background: no client streams.
package simtest
