// Package simtest tests your agent against crashes: whatever process dies, stops, or gets
// no response, at whatever moment, what the agent does must come to the same.
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
// runtime. The models are replaced by a scripted one (package scripted): what the person
// says decides which tool it calls, unless the scenario has Turns. Each world has a store, a queue and a clock of its own, in a
// bubble of testing/synctest, so that hours of waiting take no time.
//
// # Worlds
//
// A scenario is played without faults first. Then each I/O point that was passed (package
// env has their names) is struck in a world of its own, by each fault that can happen
// there: the process dies before or after it; the operation fails, or is done and its
// response lost; a message gets lost; the process stands still for longer than its lease, while another one
// takes over, and then goes on; a message or request comes twice. Some hundred worlds
// are a second's work.
//
// # What is found
//
// Each mistake fails the test and is named once, with the earliest world that shows it:
//
//   - A tool that does its work twice. It ran twice for one call, and did not ask for
//     Call.Key, nor keep a part by Call.Once, nor start a child or read of its end. A tool
//     that changes nothing outside of its run says so by ReadOnly in its Spec, one that
//     must never run twice is AtMostOnce.
//   - What reads the clock by itself: it comes to something else where only the clock of
//     the process is another one. Context.Now and Call.Now are the same in all worlds.
//   - What uses randomness of its own, and what keeps state in a variable of its package:
//     the same world twice is not the same. To tell the two apart the test's program is
//     started again, for this one test.
//   - State that does not survive a takeover: a plugin or tool that keeps something in
//     memory, and comes to something else in a process that took over.
//   - An effect that a crash has lost, although its command has changed the state as well,
//     which says now that it happened. Effects happen at most once: what must happen is a
//     tool's work. Effects that change no state with them are left alone, and so are those
//     of [Options].MayBeLost.
//   - Anything else: a run that does not end, or asks for a turn that the scenario's Turns
//     do not have, a call without its one result, input that
//     was accepted and is not there, a log that is another one than without faults, and
//     what a Check finds.
//
// Of each kind the first is named in the order of the calls, since what comes later may
// follow from it. Once it is mended, the next shows.
//
// A failure says how to play its world alone: each is a subtest, named by scenario, point,
// passing and fault, such as TestAgent/refund/W7.1/crash_after.
//
// # The outside
//
// Each process of a world has parts of its own. What stands for the outside, a bank that
// tools book at, must outlive them: [RunWorlds] makes it for each world, and its Check sees
// at the end what came of it. Two processes may use it at once.
//
// # What cannot be seen
//
//   - Work is not looked at: a tool that asks for its key and does nothing with it passes.
//     A Check on the outside tells.
//   - Goroutines that the parts start must end, and so must connections: a world waits for
//     all of them. What tools call over the network is replaced by something in memory.
//   - People act in one thread. Those of children that its calls start are waited for, and
//     compared like it, and nobody decides there. Steps are of the background: nobody streams.
package simtest
