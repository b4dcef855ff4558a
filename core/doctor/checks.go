package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// tenants reads the tenants with runs, and compares their use with their limits.
func (e *examination) tenants(ctx context.Context) {
	const limit = 100
	for after := ""; ; {
		list, err := e.o.Store.Occupied(ctx, after, limit)
		if err != nil {
			e.failed = append(e.failed, err)
			return
		}
		for _, o := range list {
			if err := e.noteTenant(ctx, o); err != nil {
				e.failed = append(e.failed, err)
			}
		}
		if len(list) < limit {
			return
		}
		after = list[len(list)-1].Tenant
	}
}

// noteTenant notes a tenant that has reached a limit.
func (e *examination) noteTenant(ctx context.Context, o store.Occupied) error {
	limits := e.o.Limits.Of(o.Tenant)
	if limits.IsZero() {
		return nil
	}
	a, err := e.o.Store.Admission(ctx, o.Tenant, e.now/(24*time.Hour).Milliseconds())
	if err != nil {
		return err
	}
	for _, l := range []struct {
		what      string
		used, max int64
	}{
		{"concurrent runs", int64(len(o.Slots)), int64(limits.ConcurrentRuns)},
		{"runs today", a.Runs, limits.RunsADay},
		{"tokens today", a.Tokens, limits.TokensADay},
	} {
		if l.max > 0 && l.used >= l.max {
			e.overLimit.add(fmt.Sprintf("%s (%d of %d %s)", o.Tenant, l.used, l.max, l.what))
		}
	}
	if limits.SpendADay > 0 && a.Spend >= limits.SpendADay {
		e.overLimit.add(fmt.Sprintf("%s (%s of %s USD today)", o.Tenant, a.Spend, limits.SpendADay))
	}
	return nil
}

// lines are the results, in the order in which an operator reads them.
func (e *examination) lines() []Line {
	return []Line{
		e.storeLine(), e.overdueLine(), e.damagedLine(), e.asideLine(), e.logLine(), e.versionLine(),
		e.dead.line("dead-runs", Problem, "runs ended as dead letters in the last "+window(e.o.Window),
			"look for the run in the log of Step, fix the cause, then send the message again",
			"no run ended as a dead letter in the last "+window(e.o.Window)),
		e.endLine(),
		e.suspects.line("suspects", Warn, "runs made no progress in two claims or more, they run alone",
			"look for the thread in the log of Step: a process may have crashed or run out of memory or time",
			"every open run makes progress"),
		e.retrying.line("models", Warn, "runs repeat calls of a model that failed",
			"look for \"model call failed\" in the log of Step, and check key, quota and status of the provider",
			"no run repeats a failed call of a model"),
		e.unpinned.line("snapshots", Problem, "runs need a stored agent that is missing",
			"restore the config table from a backup, or cancel these runs",
			"the agent of every open run is stored"),
		e.near.line("limits", Warn, "limits of threads have one free place or none",
			"wait for the runs, or cancel queued ones: more input is refused with code full",
			"no thread is near a limit"),
		e.tenantLine(), e.timeLine(),
	}
}

// timeLine compares the newest write with the clock.
func (e *examination) timeLine() Line {
	ahead := time.Duration(e.newest-e.now) * time.Millisecond
	if ahead <= maxAhead {
		return Line{Check: "times", Status: OK, Text: "no write of a thread is in the future"}
	}
	return Line{
		Check: "times", Status: Problem, Count: 1, Text: fmt.Sprintf("the newest write of a thread is %s in the future", ahead.Round(time.Second)),
		Remedy: "set the clock of this machine, or find the worker whose clock is ahead: what it delays comes late",
	}
}

// maxAhead is how far clocks may differ.
const maxAhead = 10 * time.Second

// window is a duration without zero units, such as 24h.
func window(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}

func (e *examination) storeLine() Line {
	if len(e.failed) == 0 {
		return Line{Check: "store", Status: OK, Text: fmt.Sprintf("%d threads were read", e.read)}
	}
	remedy := "check network, credentials and the table's status, and run the doctor again"
	if core.CodeOf(e.failed[0]) == core.CodeThrottled {
		remedy = "check the table's throttle metrics; raise its on-demand limits or wait"
	}
	return Line{
		Check: "store", Status: Problem, Count: len(e.failed), Remedy: remedy,
		Text: fmt.Sprintf("reads failed, %d threads were read, the first error is %q", e.read, core.Excerpt(e.failed[0].Error())),
	}
}

func (e *examination) overdueLine() Line {
	status, remedy := Problem, "check that Sweep runs each minute and that Step is not throttled, then see the check wake-ups"
	if e.o.Stopped {
		status, remedy = Warn, "start the host, which continues them"
	}
	return e.overdue.line("overdue", status,
		fmt.Sprintf("threads are late by more than %s, the first by %s", e.o.Late, (time.Duration(e.latest)*time.Millisecond).Round(time.Second)),
		remedy, fmt.Sprintf("no thread is late by more than %s", e.o.Late))
}

func (e *examination) damagedLine() Line {
	return e.damaged.line("damaged", Problem, "threads have a head that cannot be read",
		"restore the item from a backup, or run doctor quarantine THREAD or doctor delete THREAD",
		"every head that was read is intact")
}

// quarantined reads the threads that are quarantined.
func (e *examination) quarantined(ctx context.Context) {
	const limit = 100
	for after := (*core.ThreadKey)(nil); ; {
		keys, err := e.o.Store.Quarantined(ctx, after, limit)
		if err != nil {
			e.failed = append(e.failed, err)
			return
		}
		for _, key := range keys {
			stored, err := e.o.Store.StoredHead(ctx, key)
			switch {
			case err != nil:
				e.failed = append(e.failed, err)
			case stored.Quarantined == 0: // the list lags
			case stored.Damage == nil:
				e.aside.add(key.String() + " (can be read again)")
			default:
				e.aside.add(fmt.Sprintf("%s (since %s)", key, time.UnixMilli(stored.Quarantined).UTC().Format(time.RFC3339)))
			}
		}
		if len(keys) < limit {
			return
		}
		after = &keys[len(keys)-1]
	}
}

func (e *examination) asideLine() Line {
	return e.aside.line("quarantined", Problem, "threads are quarantined, no worker continues them",
		"restore the item from a backup and run doctor release THREAD, or run doctor delete THREAD",
		"no thread is quarantined")
}

func (e *examination) logLine() Line {
	none := "logs are read with -all only"
	if e.o.All {
		none = "every log is intact"
	}
	return e.logs.line("logs", Problem, "threads have damaged records",
		"restore the records from a backup, or delete these threads; an open run there ends with code corrupt", none)
}

func (e *examination) versionLine() Line {
	var counts []string
	for _, schema := range slices.Sorted(maps.Keys(e.schemas)) {
		counts = append(counts, fmt.Sprintf("%d of schema %d", e.schemas[schema], schema))
	}
	text := fmt.Sprintf("this program reads schemas up to %d and writes %d", e.o.Schemas.Reads, e.o.Schemas.Writes)
	if len(counts) > 0 {
		text += "; threads: " + strings.Join(counts, ", ")
	}
	return e.newer.line("versions", Problem, text+"; newer programs wrote threads",
		"deploy the newer release again, or finish its deployment: this program cannot continue them", text)
}

// A share of failed runs from which on they are a problem.
const (
	problemRuns  = 3
	problemShare = 10 // in a hundred
)

func (e *examination) endLine() Line {
	status := Warn
	if e.ends.count >= problemRuns && 100*e.ends.count > problemShare*e.ended {
		status = Problem
	}
	var codes []string
	for _, code := range slices.Sorted(maps.Keys(e.codes)) {
		codes = append(codes, fmt.Sprintf("%d %s", e.codes[code], code))
	}
	return e.ends.line("failed-runs", status,
		fmt.Sprintf("of %d threads whose last run ended in the last %s, ended with an error (%s)", e.ended, window(e.o.Window), strings.Join(codes, ", ")),
		"see the page of the alarm for the code in infra/README.md, then retry the runs",
		fmt.Sprintf("no last run of %d threads ended with an error in the last %s", e.ended, window(e.o.Window)))
}

// A tenant has too much of the work from this number of threads and share on.
const (
	hotThreads = 20
	hotShare   = 80 // in a hundred
)

func (e *examination) tenantLine() Line {
	total, most, first := 0, 0, ""
	for _, tenant := range slices.Sorted(maps.Keys(e.busy)) {
		n := e.busy[tenant]
		if total += n; n > most {
			most, first = n, tenant
		}
	}
	if len(e.busy) > 1 && total >= hotThreads && 100*most >= hotShare*total {
		e.overLimit.add(fmt.Sprintf("%s (%d of %d threads with work)", first, most, total))
	}
	return e.overLimit.line("tenants", Warn, "tenants are at a limit or have most of the work",
		"set or raise limits of these tenants (parameter Limits)", fmt.Sprintf("%d threads have work, no tenant is at a limit", total))
}
