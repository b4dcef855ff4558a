//go:build !race

// Under the race detector there are too few worlds to tell how often something happens.

package sim

import "testing"

// TestEachBehaviourHappensInAShareOfTheWorlds: what is rare proves little. A row is a
// behaviour and the percentage of worlds that have it at least.
func TestEachBehaviourHappensInAShareOfTheWorlds(t *testing.T) {
	total, _ := simulated()
	rows := []struct {
		behaviour Behaviour
		percent   int
	}{
		// Delayed runs.
		{DelayedInput, 10}, {DelayedInline, 6}, {DelayedStop, 10}, {DelayedInterrupt, 10}, {DelayedFull, 6}, {DelayedFirst, 3},

		// Calls that wait for child runs.
		{ChildRefused, 6}, {SpokenBesideChild, 3}, {SpokenInMixedWait, 2}, {ChildOfChild, 3}, {ChildAsked, 1}, {LeftChildren, 3}, {Detached, 3}, {OwedCancel, 5}, {Orphaned, 3},

		// Messages between threads, and children in the background.
		{LetterDelivered, 5}, {LetterRuns, 4}, {LetterToChild, 1}, {LetterTried, 1}, {LetterFailed, 1}, {LetterUnsent, 1}, {OutboxFull, 1}, {AsideTold, 4}, {AsideLate, 1},

		// Calls that wait for a time.
		{WokenByClock, 5}, {WokenBySweep, 3}, {WokenEarly, 3}, {DecidedLate, 3}, {KeptTimer, 3},

		// Tool rounds.
		{ThrottledPart, 2},
		{CutOffTool, 3},
		{LineOutOfOrder, 20},
		{RefusedInLine, 3},
		{EarlyTool, 50}, {DroppedCall, 3},

		// Clients that follow.
		{HeardBackground, 5}, {HeardStream, 3}, {HeardInside, 3}, {WrongMark, 10},

		// Threads that are made of others, and input that is taken back.
		{Forked, 10}, {ForkedInRun, 4}, {ForkedAgain, 8}, {HiddenFork, 3}, {RetractedQueued, 6}, {RetractedSteered, 6},

		// Models whose window is smaller than expected.
		{RefusedLong, 6}, {KnownWindow, 3},

		// Suspects.
		{BesideProved, 3},
		{BesidePatient, 3},

		// Records over the store's limit.
		{TooLargeTurn, 4}, {TooLargeResult, 10}, {TooLargeSuspension, 3}, {TooLargeRound, 3}, {TooLargeStep, 8},
		{TooLargeRun, 3}, {TooLargeSnapshot, 3}, {TooLargeInput, 8}, {TooLargeSubmission, 6}, {SmallerEnd, 10},

		// Lost responses, claims and ends.
		{HiddenStop, 3},
		{HiddenRetract, 3},
		{HiddenEdit, 3},
		{HiddenClaim, 3},
		{LateClaim, 4},
		{OwnEnd, 4},
		{CutStep, 4},
		{KnownLoss, 4},
		{HiddenAgain, 3},
		{KeptRunEnd, 4},

		// Runs that ended with an error.
		{TookUp, 4},
		{Retried, 4},
	}
	asserted := map[Behaviour]bool{}
	for _, row := range rows {
		asserted[row.behaviour] = true
		if got := total.WorldsThatDid[row.behaviour]; got*100 < row.percent*total.Worlds {
			t.Errorf("%d of %d worlds have %s, want %d %% of them", got, total.Worlds, row.behaviour, row.percent)
		}
	}
	for b := range behaviours {
		if !asserted[b] {
			t.Errorf("%s has no row", b)
		}
	}
}
