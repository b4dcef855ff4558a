package sim

import (
	"fmt"
	"io"
)

// Stats is what happened in a world, or in many.
type Stats struct {
	Worlds, Runs, Threads, Faults      int
	Tenants                            int // of days
	Stretches, Killed, Tokens          int // of runs; inferences whose process wrote nothing behind them; of the others
	Refusals                           int // of submissions, for a limit
	Overruns, Overshoots               int // tenants' days that came to a limit, and inferences that began behind that
	Struck                             [sites][faults]int
	Operations, Commits, Inferences    int
	Executions, Effects, Hints         int
	Takeovers, Steers, Interrupts      int
	Cancels, Stops, Edits, Inline      int
	Events                             int // that started runs
	Refences, DeadLetters, Reclaims    int
	SchemaRefused, Adopted, Dispatched int
	Skipped, Superseded, FailedSteps   int
	Children                           int // runs that calls have started
	Deletes, Delayed                   int
	Retakes                            int // asked for by a message
	Suspensions, Undecided             int // tickets, and those that nobody means to decide
	Decides, Decisions, Denies         int // requests, and what was accepted
	Expired, LeftBehind                int
	Limited                            int // worlds whose tenant has limits
	Replayed, Unreplayed               int // runs, and those that could not be
	Switches                           int // of threads, from one model of their pool to another
	Summaries, Summarized, Restored    int // that came in force; requests that begin with one; that are in force again
	Reports                            int // of running tools, that readers heard
	Unsaid                             int // pieces of turns that readers had before another process had committed them
	States, Blind                      int // shown whole in streams; patches on a state that could not be read

	Did           [behaviours]int // how often each behaviour happened
	WorldsThatDid [behaviours]int // worlds in which it happened at least once

	// Worlds in which it happened at least once.
	With struct {
		Takeover, Steer, Interrupt, Cancel, Stop, Unswept int
		Suspension, Decision, Deny, Expired, LeftBehind   int
	}
}

// Add takes another world's in.
func (s *Stats) Add(o *Stats) {
	for _, n := range []struct{ to, from *int }{
		{&s.Worlds, &o.Worlds}, {&s.Runs, &o.Runs}, {&s.Threads, &o.Threads}, {&s.Tenants, &o.Tenants}, {&s.Stretches, &o.Stretches}, {&s.Killed, &o.Killed}, {&s.Tokens, &o.Tokens}, {&s.Refusals, &o.Refusals}, {&s.Overruns, &o.Overruns}, {&s.Overshoots, &o.Overshoots}, {&s.Faults, &o.Faults},
		{&s.Operations, &o.Operations}, {&s.Commits, &o.Commits}, {&s.Inferences, &o.Inferences},
		{&s.Executions, &o.Executions}, {&s.Effects, &o.Effects}, {&s.Hints, &o.Hints},
		{&s.Takeovers, &o.Takeovers}, {&s.Steers, &o.Steers}, {&s.Interrupts, &o.Interrupts},
		{&s.Cancels, &o.Cancels}, {&s.Stops, &o.Stops}, {&s.Edits, &o.Edits}, {&s.Inline, &o.Inline}, {&s.Events, &o.Events},
		{&s.Refences, &o.Refences}, {&s.DeadLetters, &o.DeadLetters},
		{&s.Reclaims, &o.Reclaims}, {&s.SchemaRefused, &o.SchemaRefused},
		{&s.Adopted, &o.Adopted}, {&s.Dispatched, &o.Dispatched}, {&s.Skipped, &o.Skipped}, {&s.Superseded, &o.Superseded}, {&s.Retakes, &o.Retakes}, {&s.FailedSteps, &o.FailedSteps},
		{&s.Children, &o.Children}, {&s.Deletes, &o.Deletes}, {&s.Delayed, &o.Delayed}, {&s.Suspensions, &o.Suspensions}, {&s.Undecided, &o.Undecided}, {&s.Decides, &o.Decides}, {&s.Decisions, &o.Decisions},
		{&s.Denies, &o.Denies}, {&s.Expired, &o.Expired}, {&s.LeftBehind, &o.LeftBehind}, {&s.Switches, &o.Switches}, {&s.Reports, &o.Reports},
		{&s.Summaries, &o.Summaries}, {&s.Summarized, &o.Summarized}, {&s.Restored, &o.Restored},
		{&s.Limited, &o.Limited}, {&s.Replayed, &o.Replayed}, {&s.Unreplayed, &o.Unreplayed},
		{&s.Unsaid, &o.Unsaid}, {&s.States, &o.States}, {&s.Blind, &o.Blind},
		{&s.With.Suspension, &o.With.Suspension}, {&s.With.Decision, &o.With.Decision}, {&s.With.Deny, &o.With.Deny},
		{&s.With.Expired, &o.With.Expired}, {&s.With.LeftBehind, &o.With.LeftBehind},
		{&s.With.Takeover, &o.With.Takeover}, {&s.With.Steer, &o.With.Steer}, {&s.With.Interrupt, &o.With.Interrupt},
		{&s.With.Cancel, &o.With.Cancel}, {&s.With.Stop, &o.With.Stop}, {&s.With.Unswept, &o.With.Unswept},
	} {
		*n.to += *n.from
	}
	for p := range sites {
		for f := range faults {
			s.Struck[p][f] += o.Struck[p][f]
		}
	}
	s.addBehaviours(o)
}

// countWorld notes what happened at all.
func (s *Stats) countWorld() {
	s.Worlds = 1
	s.countBehaviours()
	for _, n := range []struct {
		with *int
		of   int
	}{
		{&s.With.Takeover, s.Takeovers}, {&s.With.Steer, s.Steers}, {&s.With.Interrupt, s.Interrupts},
		{&s.With.Cancel, s.Cancels}, {&s.With.Stop, s.Stops},
		{&s.With.Suspension, s.Suspensions}, {&s.With.Decision, s.Decisions}, {&s.With.Deny, s.Denies},
		{&s.With.Expired, s.Expired}, {&s.With.LeftBehind, s.LeftBehind},
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
	fmt.Fprintf(out, "worlds with: suspension %.1f%%, decision %.1f%%, deny %.1f%%, deadline passed %.1f%%, tool left behind %.1f%%\n",
		share(s.With.Suspension), share(s.With.Decision), share(s.With.Deny), share(s.With.Expired), share(s.With.LeftBehind))
	fmt.Fprintln(out, s.behaved())
	fmt.Fprintf(out, "tickets %d, decisions asked for %d, accepted %d, of which refusals %d; tickets that nobody decides %d, runs expired %d, tools left behind %d, outputs heard %d\n",
		s.Suspensions, s.Decides, s.Decisions, s.Denies, s.Undecided, s.Expired, s.LeftBehind, s.Reports)
	fmt.Fprintf(out, "threads %d, operations %d, commits %d, inferences %d, tools %d, effects %d, hints %d\n",
		s.Threads, s.Operations, s.Commits, s.Inferences, s.Executions, s.Effects, s.Hints)
	fmt.Fprintf(out, "takeovers %d, refences %d, adopted %d, dead letters %d, left to newer programs %d, steered to the next run %d, RunEnd skipped %d, tails taken back %d (asked for by a message %d), inferences failed for good %d, events %d\n",
		s.Takeovers, s.Refences, s.Adopted, s.DeadLetters, s.SchemaRefused, s.Dispatched, s.Skipped, s.Superseded, s.Retakes, s.FailedSteps, s.Events)
	fmt.Fprintf(out, "runs repeated from their records %d, and that cannot be %d\n", s.Replayed, s.Unreplayed)
	fmt.Fprintf(out, "switches to another model of a pool %d\n", s.Switches)
	fmt.Fprintf(out, "child runs %d, threads deleted %d, inputs delayed %d\n", s.Children, s.Deletes, s.Delayed)
	fmt.Fprintf(out, "pieces of turns that other processes were saying %d\n", s.Unsaid)
	fmt.Fprintf(out, "summaries in force %d, and again %d, requests that begin with one %d\n", s.Summaries, s.Restored, s.Summarized)
	s.printDays(out)
	fmt.Fprintf(out, "states shown %d, patches on an unknown one %d\n", s.States, s.Blind)
}

// Tame says what too few of the worlds had: a share of them has each trouble and each kind
// of decision, or what was simulated proves less than it seems to. Of fewer than 20 times
// [Kinds] worlds it says nothing.
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
		{"a tool that was left behind", s.With.LeftBehind, 1},
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
		{"child runs", s.Children, 5}, {"deleted threads", s.Deletes, 40}, {"delayed inputs", s.Delayed, 10},
		{"inputs said again", s.Retakes, 20}, {"events", s.Events, 5}, {"pieces of turns that other processes were saying", s.Unsaid, 2}, {"switches to another model", s.Switches, 5},
	} {
		if part.got*part.each < s.Worlds {
			complaints = append(complaints, fmt.Sprintf("%d %s in %d worlds, want one in %d", part.got, part.what, s.Worlds, part.each))
		}
	}
	return append(complaints, s.rare()...)
}

// printDays writes what was billed, where anything was.
func (s *Stats) printDays(out io.Writer) {
	if s.Stretches == 0 {
		return
	}
	fmt.Fprintf(out, "tenants=%d runs=%d stretches=%d inferences=%d killed=%d tokens=%d refused=%d limits=%d overshoots=%d faults=%d\n",
		s.Tenants, s.Runs, s.Stretches, s.Inferences, s.Killed, s.Tokens, s.Refusals, s.Overruns, s.Overshoots, s.Faults)
}
