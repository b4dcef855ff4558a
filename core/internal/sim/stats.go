package sim

import (
	"fmt"
	"io"
	"reflect"
)

// Stats is what happened in a world, or in many: numbers alone, which [Stats.Add] sums.
type Stats struct {
	Worlds, Runs, Threads, Tenants int // tenants: of days
	Operations, Faults             int
	Struck                         [sites][faults]int // faults by site and kind
	Did                            [behaviours]int    // how often each behaviour happened
	WorldsThatDid                  [behaviours]int    // worlds in which it happened at least once

	Steps     Steps
	Clients   Clients
	Tickets   Tickets
	Streams   Streams
	Usage     Usage
	Summaries Summaries
	Replays   Replays
	With      With
}

// Steps counts what processes did.
type Steps struct {
	Commits, Inferences, Executions, Effects, Hints int // hints: without second ones
	Seconds                                         int // second hints
	Died, DiedInStreams                             int // processes with claims that have a second hint, and that have none
	Takeovers, Refences, Reclaims, DeadLetters      int
	SchemaRefused                                   int // claims reserved for newer programs
	Adopted                                         int // results of an earlier claim
	Skipped                                         int // RunEnd phases
	FailedSteps, Away, GivenUp                      int
	LeftBehind                                      int // tools
	Stops                                           int // processes that had to stop
	Remade                                          int // requests, from the records of their turns
	Eventual, Old                                   int // pages of the log that were read eventually consistent, and records of them that were old
	Switches                                        int // of threads, from one model of their pool to another
}

// Clients counts what clients asked for.
type Clients struct {
	Steers, Interrupts, Cancels, Edits int
	Inline                             int // submissions that stream
	Events                             int // that started runs
	Dispatched                         int // inputs steered to a run that ended, which became the next one
	Superseded                         int // tails of logs that were withdrawn
	Retakes                            int // of them, asked for by a message
	Deletes, Delayed                   int
	Children                           int // runs that calls have started
}

// Tickets counts suspended calls, and what people decide about them.
type Tickets struct {
	Suspensions, Undecided     int // tickets, and those that no person means to decide
	Decides, Decisions, Denies int // requests, and what was accepted
	Edited                     int // decisions with arguments
	Expired                    int // runs
}

// Streams counts what readers received.
type Streams struct {
	Reports       int // of running tools
	Unsaid        int // pieces of turns before another process had committed them
	States, Blind int // shown whole; patches on a state that could not be read
}

// Usage counts what was billed, and what limits did.
type Usage struct {
	Stretches, Killed, Tokens int // of runs; inferences whose process wrote nothing after them; of the others
	Refusals                  int // of submissions, for a limit
	Overruns, Overshoots      int // tenants' days that reached a limit, and inferences that started after that
	Limited                   int // worlds whose tenant has limits
}

// Summaries counts summaries that came in force, requests that begin with one, and
// summaries that are in force again.
type Summaries struct{ InForce, Shown, Restored int }

// Replays counts runs that were repeated from their records, and those that could not be.
type Replays struct{ Replayed, Unreplayed int }

// With counts the worlds in which something happened at least once.
type With struct {
	Takeover, Steer, Interrupt, Cancel, Stop, Unswept int
	Suspension, Decision, Deny, Expired, LeftBehind   int
}

// Add adds the numbers of another world.
func (s *Stats) Add(o *Stats) { addNumbers(reflect.ValueOf(s).Elem(), reflect.ValueOf(o).Elem()) }

// addNumbers adds each number of from to that of to: both are of one type, which consists
// of structs, arrays and ints.
func addNumbers(to, from reflect.Value) {
	switch to.Kind() {
	case reflect.Struct:
		for i := range to.NumField() {
			addNumbers(to.Field(i), from.Field(i))
		}
	case reflect.Array:
		for i := range to.Len() {
			addNumbers(to.Index(i), from.Index(i))
		}
	default:
		to.SetInt(to.Int() + from.Int())
	}
}

// countWorld notes what happened at all.
func (s *Stats) countWorld() {
	s.Worlds = 1
	s.countBehaviours()
	for _, n := range []struct {
		with *int
		of   int
	}{
		{&s.With.Takeover, s.Steps.Takeovers}, {&s.With.Steer, s.Clients.Steers}, {&s.With.Interrupt, s.Clients.Interrupts},
		{&s.With.Cancel, s.Clients.Cancels}, {&s.With.Stop, s.Steps.Stops},
		{&s.With.Suspension, s.Tickets.Suspensions}, {&s.With.Decision, s.Tickets.Decisions}, {&s.With.Deny, s.Tickets.Denies},
		{&s.With.Expired, s.Tickets.Expired}, {&s.With.LeftBehind, s.Steps.LeftBehind},
	} {
		if n.of > 0 {
			*n.with = 1
		}
	}
}

// Print writes a table of faults by site and kind, and the shares of worlds.
func (s *Stats) Print(out io.Writer) {
	fmt.Fprintf(out, "%-18s", "faults")
	for f := Fault(1); f < faults; f++ {
		fmt.Fprintf(out, " %13s", f)
	}
	fmt.Fprintln(out)
	for p := range sites {
		fmt.Fprintf(out, "%-18s", p)
		for f := Fault(1); f < faults; f++ {
			if n := s.Struck[p][f]; n > 0 {
				fmt.Fprintf(out, " %13d", n)
			} else {
				fmt.Fprintf(out, " %13s", "-")
			}
		}
		fmt.Fprintln(out)
	}
	share := func(n int) float64 { return 100 * float64(n) / float64(max(s.Worlds, 1)) }
	fmt.Fprintf(out, "worlds with: takeover %.0f%%, steer %.0f%%, interrupt %.0f%%, cancel %.0f%%, stop %.0f%%; without a sweep %.0f%%\n",
		share(s.With.Takeover), share(s.With.Steer), share(s.With.Interrupt), share(s.With.Cancel), share(s.With.Stop), share(s.With.Unswept))
	fmt.Fprintf(out, "worlds with: suspension %.1f%%, decision %.1f%%, deny %.1f%%, deadline passed %.1f%%, abandoned tool %.1f%%\n",
		share(s.With.Suspension), share(s.With.Decision), share(s.With.Deny), share(s.With.Expired), share(s.With.LeftBehind))
	fmt.Fprintln(out, s.behaved())
	fmt.Fprintf(out, "tickets %d, decisions requested %d, accepted %d, refusals among them %d, with arguments %d; tickets without a decision %d, runs expired %d, tools abandoned %d, outputs received %d\n",
		s.Tickets.Suspensions, s.Tickets.Decides, s.Tickets.Decisions, s.Tickets.Denies, s.Tickets.Edited, s.Tickets.Undecided, s.Tickets.Expired, s.Steps.LeftBehind, s.Streams.Reports)
	fmt.Fprintf(out, "threads %d, operations %d, commits %d, inferences %d, tools %d, effects %d, hints %d\n",
		s.Threads, s.Operations, s.Steps.Commits, s.Steps.Inferences, s.Steps.Executions, s.Steps.Effects, s.Steps.Hints)
	fmt.Fprintf(out, "second hints %d, workers that died with one %d, streams that died without %d\n", s.Steps.Seconds, s.Steps.Died, s.Steps.DiedInStreams)
	fmt.Fprintf(out, "takeovers %d, refences %d, adopted %d, dead letters %d, released for newer programs %d, steered to the next run %d, RunEnd skipped %d, tails superseded %d (requested by a message %d), inferences failed finally %d, events %d\n",
		s.Steps.Takeovers, s.Steps.Refences, s.Steps.Adopted, s.Steps.DeadLetters, s.Steps.SchemaRefused, s.Clients.Dispatched, s.Steps.Skipped, s.Clients.Superseded, s.Clients.Retakes, s.Steps.FailedSteps, s.Clients.Events)
	fmt.Fprintf(out, "runs replayed from their records %d, not replayable %d\n", s.Replays.Replayed, s.Replays.Unreplayed)
	fmt.Fprintf(out, "pages of logs read eventually consistent %d, old or missing records in them %d\n", s.Steps.Eventual, s.Steps.Old)
	fmt.Fprintf(out, "switches to another model of a pool %d\n", s.Steps.Switches)
	fmt.Fprintf(out, "child runs %d, threads deleted %d, inputs delayed %d\n", s.Clients.Children, s.Clients.Deletes, s.Clients.Delayed)
	fmt.Fprintf(out, "pieces of turns from other processes %d\n", s.Streams.Unsaid)
	fmt.Fprintf(out, "summaries in force %d, and again %d, requests that start with one %d\n", s.Summaries.InForce, s.Summaries.Restored, s.Summaries.Shown)
	s.printDays(out)
	fmt.Fprintf(out, "states shown %d, patches on an unknown one %d\n", s.Streams.States, s.Streams.Blind)
}

// Tame returns complaints about troubles and kinds of decisions that too few of the worlds
// had: a share of them must have each, or the simulation proves less than it seems to. For
// fewer than 20 times [Kinds] worlds it returns none.
func (s *Stats) Tame() (complaints []string) {
	if s.Worlds < 20*Kinds {
		return nil
	}
	for _, share := range []struct {
		what    string
		got     int
		percent int
	}{
		{"a suspended call", s.With.Suspension, 15},
		{"a decision", s.With.Decision, 15},
		{"a call that was denied", s.With.Deny, 10},
		{"a deadline that passed", s.With.Expired, 2},
		{"an abandoned tool", s.With.LeftBehind, 1},
	} {
		if share.got*100 < share.percent*s.Worlds {
			complaints = append(complaints, fmt.Sprintf("%d of %d worlds have %s, want %d %% of them", share.got, s.Worlds, share.what, share.percent))
		}
	}
	for _, part := range []struct {
		what string
		got  int
		each int // so many worlds have one
	}{
		{"child runs", s.Clients.Children, 5}, {"deleted threads", s.Clients.Deletes, 40}, {"delayed inputs", s.Clients.Delayed, 10},
		{"decisions with arguments", s.Tickets.Edited, 5}, {"repeated inputs", s.Clients.Retakes, 20}, {"events", s.Clients.Events, 5}, {"pieces of turns from other processes", s.Streams.Unsaid, 2}, {"switches to another model", s.Steps.Switches, 5},
		{"dead workers with a second hint", s.Steps.Died, 20}, {"dead streams", s.Steps.DiedInStreams, 100},
	} {
		if part.got*part.each < s.Worlds {
			complaints = append(complaints, fmt.Sprintf("%d %s in %d worlds, want one in %d", part.got, part.what, s.Worlds, part.each))
		}
	}
	return append(complaints, s.rare()...)
}

// printDays writes what was billed, where anything was.
func (s *Stats) printDays(out io.Writer) {
	if s.Usage.Stretches == 0 {
		return
	}
	fmt.Fprintf(out, "tenants=%d runs=%d stretches=%d inferences=%d killed=%d tokens=%d refused=%d limits=%d overshoots=%d faults=%d\n",
		s.Tenants, s.Runs, s.Usage.Stretches, s.Steps.Inferences, s.Usage.Killed, s.Usage.Tokens, s.Usage.Refusals, s.Usage.Overruns, s.Usage.Overshoots, s.Faults)
}
