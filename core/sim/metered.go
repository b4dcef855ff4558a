package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
	"github.com/reveille-run/reveille/core/usage"
)

// metered reports whether the world's programs record what runs use: those of every
// other one do. All of a world agree, since they share its heads.
func (w *World) metered() bool { return w.Seed%2 == 0 }

// stretch is where a usage record stands.
type stretch struct {
	run    core.ID
	number uint64
}

// checkUsage looks at all usage records when the world is quiet: each stretch of a run
// has one, in one hour, whatever was put again and wherever a process has died, and those
// of a run say together what its own record says.
func (w *World) checkUsage() {
	if !w.metered() {
		return
	}
	hours, tokens, last := map[stretch]int64{}, map[core.ID]core.Usage{}, map[core.ID]uint64{}
	ctx := context.Background()
	marks, err := w.usage.UsageMarks(ctx, store.UsageShard(tenant), tenant, nil, tooBusy)
	if err != nil {
		w.violate("marks of usage: %v", err)
	}
	for _, mark := range marks {
		records, err := w.usage.UsageRecords(ctx, tenant, mark.Hour, "", tooBusy)
		if err != nil {
			w.violate("records of usage: %v", err)
		}
		for _, stored := range records {
			var r usage.Record
			if err := w.checks.Decode("usage", stored.Payload, &r); err != nil {
				w.violate("%s: %v", stored.Name, err)
			}
			at := stretch{r.Run, r.Stretch}
			if hour, twice := hours[at]; twice {
				w.violate("stretch %d of run %s is recorded in hours %d and %d", r.Stretch, r.Run, hour, mark.Hour)
			}
			if r.Lost {
				w.violate("stretch %d of run %s has lost what it used", r.Stretch, r.Run)
			}
			hours[at], last[r.Run] = mark.Hour, max(last[r.Run], r.Stretch)
			for _, m := range r.Models {
				tokens[r.Run] = tokens[r.Run].Add(m.Usage)
			}
		}
	}
	for run, number := range last {
		for n := range number {
			if _, ok := hours[stretch{run, n}]; !ok {
				w.violate("stretch %d of run %s is not recorded, and stretch %d is", n, run, number)
			}
		}
	}
	for _, p := range w.partitions {
		p.checkUsage(w, tokens)
	}
}

// checkUsage compares what was recorded of the thread's runs with what they say of
// themselves. A run that ended otherwise than by itself may have used more: what its model
// had said of a turn that was not stored.
func (p *partition) checkUsage(w *World, tokens map[core.ID]core.Usage) {
	for name, stored := range p.records {
		if !strings.HasPrefix(name, "R#") || p.head.Deleted {
			continue
		}
		r, err := w.checks.DecodeRun(stored.Payload)
		if err != nil || r.Status != core.RunDone || r.ID == p.head.Run.ID {
			continue
		}
		got, recorded := tokens[r.ID]
		more := got.Input - r.Usage.Input + got.Output - r.Usage.Output
		if natural := r.Termination != nil && r.Termination.Type == core.TerminationNatural; !recorded && r.Usage != (core.Usage{}) || more < 0 || natural && more != 0 {
			w.fail(p, "run %s ended %s and has used %+v, recorded is %+v", r.ID, ended(r), r.Usage, got)
		}
	}
}

func ended(r thread.RunRecord) string {
	if r.Termination == nil {
		return "somehow"
	}
	return fmt.Sprint(r.Termination.Type, " ", r.Termination.Code)
}
