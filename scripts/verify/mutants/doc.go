// Command mutants tests the tests: it changes one place at a time of the reducer, the
// accounts, the mailbox, the stepper or the parts of a step (state, plugins, tools, agents,
// stop policies), and checks that a test fails. A mutant that no test kills shows a rule
// without a test.
//
// The command runs a seeded sample of all mutants. Each mutant is an overlay, so no file of
// the repository changes. The sample is stable: a hash of the seed and of the change selects a
// mutant, which stays selected when the code around it moves.
//
//	go run ./scripts/verify/mutants -n 300 -seed 1
//	go run ./scripts/verify/mutants -only core/internal/thread/claim.go:25   # the mutants of a line
//	go run ./scripts/verify/mutants -only core/internal/run/run.go:watch     # or of a function
//	go run ./scripts/verify/mutants -only core/internal/run/gate.go,core/internal/run/round.go -n 40
//	go run ./scripts/verify/mutants -list -packages core/mailbox    # list them without running
//	go run ./scripts/verify/mutants -equivalents                    # check equivalent.txt
//
// Mutants that behave like the program are listed with a reason in equivalent.txt and do not
// count. Errors that no operator makes, but that the tests once missed, are in named.txt. They
// run in addition to every sample of their package. The last lines are the score of each
// package and of all. The exit status is 1 if the score of all is under 95 %, or that of a
// package with at least 20 mutants, so that a large package cannot hide a small one.
//
// It is not gremlins (github.com/go-gremlins/gremlins, tried in November 2026), which makes
// two fifths of these mutants (170 instead of 442 in stop, secret and internal/strict, all its
// operators on: it drops no statement, case, operand or field), runs all of them or those of
// a diff, against the tests of the mutant's own package or of the whole module, and has
// neither a seeded sample, nor a list of equivalent mutants, nor a score for each package.
package main
