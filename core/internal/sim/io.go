package sim

import (
	"context"
	"errors"
	"time"

	"github.com/reveille-run/reveille/core/store"
)

// Site is an operation that reaches out of a process, where the world injects
// faults. The [env.Point] of the code that reaches out is not looked at: a site is
// seen from the other side.
type Site uint8

// The sites.
const (
	SiteHead    Site = iota // a head is read
	SiteLog                 // a page of the log is read
	SiteGet                 // one record is read
	SitePointer             // a pointer is put or read
	SiteLogPut              // a log record is put
	SiteCreate              // a create-only record is put
	SiteRewrite             // a rewritable record is put
	SiteCommit              // a head is written
	SiteHint                // a wake-up is sent
	SiteDue                 // overdue threads are listed
	SiteModel               // a model is called
	SiteTool                // a tool runs
	SiteEffect              // an effect runs
	SiteHost                // a process runs
	sites
)

var siteNames = [sites]string{
	"read head", "read log", "read record", "pointer", "put log", "put create-only", "put rewritable",
	"write head", "send hint", "list due", "model", "tool", "effect", "host",
}

// String returns the site's name.
func (p Site) String() string { return siteNames[p] }

// Fault is what happens at a site instead of the operation as it should be.
type Fault uint8

// The faults.
const (
	FaultNone         Fault = iota
	FaultCrashBefore        // the process dies, the operation is not done
	FaultCrashAfter         // it is done, the process dies
	FaultLost               // it is done, the response is lost
	FaultThrottled          // it is not done, and the process receives that
	FaultPausedBefore       // it is done longer than a lease later
	FaultPausedAfter        // it is done, the process hears of it longer than a lease later
	FaultLate               // the process gives it up, it is done later
	FaultDoubled            // a hint arrives twice
	FaultDropped            // a hint never arrives
	FaultDelayed            // a hint arrives much later
	FaultStale              // the index shows what was true some seconds ago
	FaultStopped            // the host has to stop
	faults
)

var faultNames = [faults]string{
	"none", "crash before", "crash after", "response lost", "throttled", "paused before", "paused after", "late",
	"doubled", "dropped", "delayed", "stale", "stopped",
}

// String returns the fault's name.
func (f Fault) String() string { return faultNames[f] }

// errReset is a response that did not come.
var errReset = errors.New("connection reset by peer")

// lease is that of every claim.
const lease = 30 * time.Second

// request is one operation under way. It acts on the world in do.
type request struct {
	site Site
	name string // for the trace
	do   func()
	sure bool // it has a response, or the process dies
	// claims: the write takes a claim. holder: it is of the present one. person: it is a
	// person's, where most responses to those are lost. unheard is called when the
	// process learns that the response is lost.
	claims, holder, person bool
	keyed                  bool // the write is a client's, and a repetition of it is known by its key
	cut                    bool // it makes the end of a run final, and the store refuses that for a while
	unheard                func()
}

// ask makes requests side by side and waits for all their responses. When ctx
// ends before, its cause is returned, and what is under way may still happen.
func (h *host) ask(ctx context.Context, requests ...request) error {
	w, t := h.world, h.world.current()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	open, wait, until := len(requests), t.waits, ctx
	if open == 0 {
		return nil
	}
	var failure error
	for _, r := range requests {
		if r.sure {
			until = context.WithoutCancel(ctx)
		}
		w.send(h, r, func(err error) {
			if failure == nil {
				failure = err
			}
			if open--; open == 0 {
				t.wake(wait)
			}
		})
	}
	t.park(until, nil)
	if open > 0 {
		return context.Cause(ctx)
	}
	return failure
}

// send carries one request out, with the fault that strikes it.
func (w *World) send(h *host, r request, done func(error)) {
	soon := w.random.between(3*time.Millisecond, 15*time.Millisecond)
	pause := lease + w.random.between(0, 2*lease)
	whole := w.random.chance(0.5) // the process, or this request alone
	do := func() {
		w.note(h, r)
		r.do()
	}
	alive := func(f func()) func() {
		return func() {
			if !h.dead {
				f()
			} else if r.site < SiteModel && w.random.chance(0.5) {
				do() // it was on its way when the process died
			}
		}
	}
	reply := func(err error) {
		if !h.dead {
			done(err)
		}
	}
	fault := w.draw(r)
	if fault != FaultNone && r.site == SiteLogPut {
		h.unstored = w.now
	}
	if fault != FaultNone && !w.throttledPart(r, fault) {
		h.hindered = max(h.hindered, w.now+pause)
		if r.site == SiteCommit {
			h.unheard = w.now
			h.slow = max(h.slow, w.now+pause)
		}
		if r.site == SiteHead || r.site == SiteCommit {
			h.blind = max(h.blind, w.now+pause)
		}
	}
	switch fault {
	case FaultCrashBefore:
		w.at(soon, func() { h.kill() })
	case FaultCrashAfter:
		w.at(soon, alive(func() { do(); h.kill() }))
	case FaultLost:
		w.at(soon, alive(func() {
			do()
			w.lose(h, r, func() { reply(errReset) })
		}))
	case FaultThrottled:
		w.at(soon, func() { reply(store.ErrThrottled) })
	case FaultPausedBefore:
		if whole {
			h.freeze(pause)
		}
		w.at(pause, alive(func() { do(); reply(nil) }))
	case FaultPausedAfter:
		w.at(soon, alive(func() {
			do()
			if whole {
				h.freeze(pause)
			}
			w.at(pause, func() { reply(nil) })
		}))
	case FaultLate:
		w.at(w.random.between(50*time.Millisecond, 40*time.Second), do)
		w.at(soon, func() { reply(errReset) })
	default:
		w.at(soon, alive(func() { do(); reply(nil) }))
	}
}

// allowed are the faults that a site can have by itself.
func allowed(p Site) []Fault {
	switch p {
	case SiteModel, SiteTool, SiteEffect: // no requests of ours: what they do cannot be done twice by the world
		return []Fault{FaultCrashBefore, FaultCrashAfter, FaultPausedBefore, FaultPausedAfter}
	case SiteDue, SiteHead, SiteLog, SiteGet:
		return []Fault{FaultCrashBefore, FaultLost, FaultThrottled, FaultPausedAfter}
	}
	return []Fault{FaultCrashBefore, FaultCrashAfter, FaultLost, FaultThrottled, FaultPausedBefore, FaultPausedAfter, FaultLate}
}

// draw decides what happens to a request.
func (w *World) draw(r request) Fault {
	p := r.site
	if w.now >= w.stop {
		return FaultNone
	}
	rate := w.config.Faults
	if p == SiteDue {
		rate /= 2 // there are many, and nothing hangs on one
	}
	fault := FaultNone
	switch {
	case w.random.chance(rate):
		kinds := allowed(p)
		if fault = kinds[w.random.below(len(kinds))]; w.config.Processes.Unswept && p == SiteHint && fault == FaultThrottled {
			fault = FaultLost // one that was not taken is the sweep's
		}
	case w.config.Processes.Unswept && w.config.Processes.Batch && p == SiteHead && w.random.chance(0.04):
		fault = FaultPausedAfter // claims are taken over while a batch is looked at
	case w.config.Storage.Tardy && r.claims && w.random.chance(0.1):
		fault = FaultPausedAfter
	case w.config.Storage.Hidden && r.person && w.random.chance(0.6):
		fault = FaultLost
	case w.config.Storage.Overtaken && r.keyed && w.random.chance(0.3):
		fault = FaultPausedBefore
	case w.config.Storage.Ambiguous && p == SiteCommit && w.random.chance(0.2):
		fault = FaultLost
	case r.cut:
		fault = FaultThrottled
	case w.config.Storage.Throttled && p == SiteCreate && w.throttle(r.name):
		fault = FaultThrottled
	case w.config.Storage.Late && (p == SiteLogPut || p == SiteRewrite || p == SiteCreate) && w.random.chance(0.1):
		fault = []Fault{FaultPausedBefore, FaultLate}[w.random.below(2)]
	}
	if r.sure && fault != FaultCrashBefore && fault != FaultCrashAfter {
		return FaultNone
	}
	w.strike(p, fault)
	return fault
}

// strike counts a fault.
func (w *World) strike(p Site, f Fault) {
	if f == FaultNone {
		return
	}
	w.Stats.Faults++
	w.Stats.Struck[p][f]++
	if w.config.Trace != nil {
		w.config.Trace("%s at %s", f, p)
	}
}
