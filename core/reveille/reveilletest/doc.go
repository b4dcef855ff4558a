// Package reveilletest tests agents: with models that say what a test wants, one tool by
// itself, and through every crash that a process can have.
//
// # Models
//
// [Script] is a model that says given turns, with any calls, one after the other or side by
// side. [Rules] does what the person says: "call: refund {...}" calls that tool. Both need no
// network, and say the same when a step is taken again.
//
//	m := reveilletest.Script(
//		reveilletest.Turn{Calls: []reveille.ToolCall{reveilletest.Call("refund", map[string]any{"order": "A-1"})}},
//		reveilletest.Turn{Text: "Done."},
//	)
//
// # Crashes
//
// [Crashes] plays what people do with an agent again and again, each time with another fault
// at another I/O operation: the process dies before or after it, the operation fails, its
// response is lost, a message comes twice. Tools, plugins and policies are the real ones.
// Whatever happens, the agent must come to the same: no tool does its work twice, no state is
// lost, no call is left without a result.
//
//	func TestAgent(t *testing.T) {
//		reveilletest.Crashes{
//			Parts: func() (reveille.Parts, error) { return parts() },
//			Scenarios: []reveilletest.Scenario{{Name: "refund", Person: []reveilletest.Act{
//				reveilletest.Say(`call: refund {"order":"A-1"}`), reveilletest.Approve(),
//			}}},
//		}.Run(t)
//	}
//
// A scenario plays in a store, a queue and a time of its own, so that hours of waiting take
// none. A failure names the world that shows it, and how to play that world alone.
package reveilletest
