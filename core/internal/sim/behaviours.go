package sim

import (
	"fmt"
	"strings"
)

// Behaviour is something that happens in some worlds of most kinds. A world counts it
// when it has happened, not when it could have: see [Stats.Did].
type Behaviour uint8

// The behaviours, by what they are about.
const (
	// Delayed runs.
	DelayedInput     Behaviour = iota // a run that is to open later was accepted
	DelayedInline                     // a run was claimed with its submission while one was not due
	DelayedStop                       // Stop named the thread of one
	DelayedInterrupt                  // an interrupt, with input or without, came while one existed
	DelayedFull                       // the ninth was refused
	DelayedFirst                      // a due one opened before queued ones of its priority

	// Calls that wait for child runs.
	ChildRefused      // a person's decision on one was refused
	SpokenBesideChild // a person spoke to a run that waits for such calls alone
	SpokenInMixedWait // or for people, too
	ChildOfChild      // a child run has started another
	ChildAsked        // a stream has shown that a child run waits for a person
	LeftChildren      // a run ended with open children
	Detached          // one of them was detached
	OwedCancel        // a child that was left is cancelled, or over, when the cancel is delivered
	Orphaned          // a child is claimed first when its parent is over

	// Messages between threads, and children in the background.
	LetterDelivered // a message was delivered
	LetterRuns      // and started a run
	LetterToChild   // to a run that the sender has started
	LetterTried     // a message could not be delivered at first
	LetterFailed    // a message was given up
	LetterUnsent    // a message was refused, since its receiver is deleted
	OutboxFull      // a message was refused, since eight are not delivered yet
	AsideTold       // the end of a child in the background has reached its parent's thread
	AsideLate       // when the run that had started it was over

	// Calls that wait for a time.
	WokenByClock // the clock has decided one
	WokenBySweep // it has waited for longer than a queue holds a hint back
	WokenEarly   // a person has decided earlier
	DecidedLate  // a person's decision was refused, since the clock had decided
	KeptTimer    // a person spoke, and it was kept

	// Tool rounds.
	EarlyTool     // a tool ran before its turn was committed
	DroppedCall   // the turn was lost, and the model called again
	ThrottledPart // the put of a tool's part was throttled
	CutOffTool    // a run was ended while a tool ran, or had run in a process that was gone

	LineOutOfOrder // results of a parallel round are in another order than their calls
	RefusedInLine  // a change did not apply after a sibling's

	// Suspects.
	BesideProved  // a run was claimed together with a suspect that had stored a result
	BesidePatient // or that had run for ten seconds without one

	// Records over the store's limit.
	TooLargeTurn       // a turn with calls
	TooLargeResult     // a result of a call
	TooLargeSuspension // what a call waits with
	TooLargeRound      // the open round of a run that waits
	TooLargeStep       // a step record
	TooLargeRun        // a run's record, at its start, when it waits or at its end
	TooLargeSnapshot   // a value of a stored state
	TooLargeInput      // input as the log would have it
	TooLargeSubmission // input as a client sends it
	SmallerEnd         // the end of a run in a smaller form

	// Lost responses, hidden by another write before the process looks.
	HiddenStop    // to a cancel, of a run or by thread
	HiddenRetract // to a retraction
	HiddenEdit    // to an edit
	HiddenClaim   // to a claim
	HiddenAgain   // to the continuation of a failed run

	// Claims and ends.
	LateClaim  // a claim was heard of when its lease was over
	OwnEnd     // a process has ended a run that it works on
	CutStep    // a run ended in the middle of a step, and its record has the figures of that
	KnownLoss  // a run ended that a worker had lost, and its record has when
	KeptRunEnd // a run ended with the changes of RunEnd under a claim that was released after it

	// Runs that ended with an error.
	TookUp  // one was continued after its turns, and has generated more
	Retried // a dead letter has started again, and has generated a turn

	// Models whose window is smaller than expected.
	RefusedLong // a request was refused as too long
	KnownWindow // a turn was made by a process that knew the window from a refusal

	// Forked threads.
	Forked      // a client received one
	ForkedInRun // it ends within a run that continues
	ForkedAgain // a client that has asked for the same received it
	HiddenFork  // the response to its making was lost, and others hid it

	// Withdrawn input.
	RetractedQueued  // a run that has not started
	RetractedSteered // input to one that is open

	// Clients that follow.
	HeardBackground // words of a run in the background were heard in another process before their commit
	HeardStream     // or of one that a request streams
	HeardInside     // or in the process that works on the run
	WrongMark       // a mark was left that is stale, of a clock that goes wrong, of another run or none at all

	behaviours // how many there are
)

var behaviourNames = [behaviours]string{
	DelayedInput: "a delayed run", DelayedInline: "an inline run during a delayed one", DelayedStop: "Stop during a delayed run",
	DelayedInterrupt: "an interrupt during a delayed run", DelayedFull: "a ninth delayed run", DelayedFirst: "a due run before queued ones",

	ChildRefused: "a person's decision on a child's ticket", SpokenBesideChild: "input during a wait for children", SpokenInMixedWait: "input in a mixed wait",
	ChildOfChild: "a child of a child", ChildAsked: "a stream with the question of a child run", LeftChildren: "an end that leaves children", Detached: "an end that leaves a detached child",
	OwedCancel: "a cancel of a child that was left", Orphaned: "a child that starts after its parent",

	LetterDelivered: "a message to another thread", LetterRuns: "a message that starts a run",
	LetterToChild: "a message to a child run", LetterTried: "a message that is tried again", LetterFailed: "a message that is given up", LetterUnsent: "a message to a deleted thread", OutboxFull: "a message without a place",
	AsideTold: "the end of a child in the background", AsideLate: "the end of a detached child in the background",

	WokenByClock: "a timer that the clock has woken", WokenBySweep: "a timer that no queue could hold back", WokenEarly: "a timer that a person woke earlier",
	DecidedLate: "a decision on a timer that the clock has woken", KeptTimer: "a timer that was kept while a person spoke",

	EarlyTool: "a tool that runs before the commit of its turn", DroppedCall: "an early call that is dropped",
	ThrottledPart: "a throttled part of a tool",
	CutOffTool:    "a tool with an unknown outcome",

	LineOutOfOrder: "results that are merged in another order than their calls", RefusedInLine: "a change that does not apply after a sibling's",

	BesideProved:  "a run next to a suspect that has stored a result",
	BesidePatient: "a run next to a suspect after ten seconds",

	TooLargeTurn: "a turn that is too large", TooLargeResult: "a result that is too large", TooLargeSuspension: "a suspension that is too large",
	TooLargeRound: "an open round that is too large", TooLargeStep: "a step record that is too large", TooLargeRun: "a run's record that is too large",
	TooLargeSnapshot: "a stored state that is too large", TooLargeInput: "an input too large for the log", TooLargeSubmission: "a submission that is too large",
	SmallerEnd: "an end in a smaller form",

	HiddenStop:    "a cancel whose lost response is hidden",
	HiddenRetract: "a retraction whose lost response is hidden",
	HiddenEdit:    "an edit whose lost response is hidden",
	HiddenClaim:   "a claim whose lost response is hidden",
	HiddenAgain:   "a take-up or a retry whose lost response is hidden",

	RefusedLong: "a request that is too long",
	KnownWindow: "a turn of a process that knows the window",

	Forked:      "a fork",
	ForkedInRun: "a fork within a run",
	ForkedAgain: "a fork that is requested again",
	HiddenFork:  "a fork whose lost response is hidden",

	RetractedQueued:  "a queued run that is withdrawn",
	RetractedSteered: "steered input that is withdrawn",

	HeardBackground: "words of a background run in another process",
	HeardStream:     "words of a streamed run in another process",
	HeardInside:     "words in the process that works on the run",
	WrongMark:       "a wrong follow mark",

	LateClaim:  "a claim whose response is late",
	OwnEnd:     "a run that its own process ends",
	CutStep:    "a step that the end of its run cuts short",
	KnownLoss:  "a run whose record has a lost claim",
	KeptRunEnd: "an end with the changes of RunEnd under an earlier claim",

	TookUp:  "a failed run that is continued after its turns",
	Retried: "a dead letter that starts again",
}

// String returns what happens.
func (b Behaviour) String() string { return behaviourNames[b] }

// leastShare is the part of the worlds, in percent, that a behaviour is to happen in. A tenth of the
// worlds have messages.
func (b Behaviour) leastShare() int {
	if b >= LetterToChild && b <= AsideLate {
		return 1
	}
	return 3
}

// did notes that a behaviour happened.
func (w *World) did(b Behaviour) { w.Stats.Did[b]++ }

// countBehaviours notes what happened at all.
func (s *Stats) countBehaviours() {
	for b := range behaviours {
		s.WorldsThatDid[b] = min(s.Did[b], 1)
	}
}

// behaved is one line with the share of worlds of each behaviour.
func (s *Stats) behaved() string {
	var parts []string
	for b := range behaviours {
		share := 100 * float64(s.WorldsThatDid[b]) / float64(max(s.Worlds, 1))
		parts = append(parts, fmt.Sprintf("%s %.1f%%", b, share))
	}
	return "worlds with: " + strings.Join(parts, ", ")
}

// rare returns the behaviours that too few of the worlds had.
func (s *Stats) rare() (complaints []string) {
	for b := range behaviours {
		if got := s.WorldsThatDid[b]; got*100 < b.leastShare()*s.Worlds {
			complaints = append(complaints, fmt.Sprintf("%d of %d worlds have %s, want %d %% of them", got, s.Worlds, b, b.leastShare()))
		}
	}
	return complaints
}
