// Package scripted has models without a network: each turn follows from the request alone,
// so that a resumed, retried or duplicated inference gets the same one. Demos, tests and
// load runs use them. [Turns] generates the turns of a test, with any calls. The model of
// [New] follows rules.
//
// # Rules
//
// The last user message selects a rule by its prefix:
//
//	echo: X         calls the tool echo with {"text": X}, then says X
//	parallel: A, B  calls echo once per item in one step, then says all
//	think: X        reasons X, then says it
//	slow: N         says w1 to wN, one word per 100 ms, 1 <= N <= 600
//	cite: URL       says a text that cites the address
//	fail            fails with "scripted model failure", for good
//	approve: X      calls the tool danger with {"text": X}, then says X
//	ask: X          calls the tool ask_user with {"question": X}, then says its output
//	call: TOOL J    calls the tool with the arguments J, {} when left out, then says its result
//	team: N P | N P calls the tool agent_run_N with {"prompt": P} for each part in one step, then says their responses
//	state: J        calls the tool set_state with {"state": J}, then says that it is set
//	help            says what the rules are, as does "Tell me what you can do"
//	anything else   says it back
//
// After a call that was denied or cancelled the model answers that it was denied. After one
// that never ran, because the tool is missing or the arguments do not fit, it answers with
// the reason. If the model has to continue a cut turn, it generates the rest.
package scripted
