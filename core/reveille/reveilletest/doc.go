// Package reveilletest tests agents: with scripted models, with one tool alone, and with every
// crash that a process can have.
//
// # Models
//
// [Script] returns a model that generates given turns, with calls that run in sequence or in
// parallel. [Rules] returns a model that obeys the person's message: "call: refund {...}" calls
// that tool. Both need no network, and generate the same turn when a step is repeated.
//
//	m := reveilletest.Script(
//		reveilletest.Turn{Calls: []reveille.ToolCall{reveilletest.Call("refund", map[string]any{"order": "A-1"})}},
//		reveilletest.Turn{Text: "Done."},
//	)
//
// # Crashes
//
// [Crashes] runs a scenario again and again, each time with a different fault at a different
// I/O operation: the process dies before or after it, the operation fails, its response is
// lost, a message is delivered twice. Tools, plugins and policies are the real ones. The
// outcome must be the same despite the fault: no tool does its work twice, no state is lost, no
// call is left without a result.
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
// A scenario has its own store, queue and clock, so that hours of waiting take no time. A
// failure names the simulated run that shows it, and how to repeat that run alone.
package reveilletest
