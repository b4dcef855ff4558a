// Command mutants tests the tests: it changes one place at a time of the reducer, the
// accounts, the mailbox, the stepper or of what a step is made of (state, plugins, tools,
// agents, stop policies), and looks whether a test fails. A mutant that no test kills shows a
// rule that nothing holds.
//
// A seeded sample of all mutants is run, each in an overlay, so that no file of
// the repository is touched. The sample is stable: a mutant is chosen by a hash
// of the seed and of what it changes, and stays chosen when code around it moves.
//
//	go run ./scripts/verify/mutants -n 300 -seed 1
//	go run ./scripts/verify/mutants -only core/internal/thread/claim.go:25   # the mutants of a line
//	go run ./scripts/verify/mutants -only core/internal/run/run.go:watch     # or of a function
//	go run ./scripts/verify/mutants -only core/internal/run/gate.go,core/internal/run/round.go -n 40
//	go run ./scripts/verify/mutants -list -packages core/mailbox    # what there is, without running it
//	go run ./scripts/verify/mutants -equivalents                    # is equivalent.txt still right?
//
// Mutants that cannot be told from the program are listed with a reason in
// equivalent.txt and do not count. What no operator makes, but once escaped the
// tests, stands in named.txt by hand: these are run beside every sample of their
// package. The last lines are the score of each package and that of all; the exit
// status is 1 when that of all is under 95 %, or that of a package of which at least
// 20 were run: a large package must not hide a small one.
//
// It is not gremlins (github.com/go-gremlins/gremlins, tried in November 2026), which makes
// two fifths of these mutants (170 instead of 442 in stop, secret and internal/strict, all its
// operators on: it drops no statement, case, operand or field), runs all of them or those of
// a diff, against the tests of the mutant's own package or of the whole module, and has
// neither a seeded sample, nor a list of equivalent mutants, nor a score for each package.
package main
