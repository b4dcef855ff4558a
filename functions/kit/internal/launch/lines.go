package launch

import (
	"io"
	"slices"

	"github.com/reveille-run/reveille/adapters/outbound/emf"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
)

// write returns the writer of a function's lines. Stretches of runs that metering records
// write theirs from then on; nil: usage is not recorded.
func write(to io.Writer, c *cloud.Function, metering *host.Metering) *emf.Writer {
	o := emf.Options{Stack: c.Settings.Stack, Function: c.Kind, Now: c.Env.Now}
	if metering == nil {
		return emf.New(to, o)
	}
	o.Price = metering.Models.Cost
	lines := emf.New(to, o)
	metering.Ended = lines.Used
	return lines
}

// report writes what a step has to report: most steps have nothing, and write no line. Calls
// of one model that failed for one reason are one line.
func report(lines *emf.Writer, r host.StepReport) {
	lines.Late(r.Key, r.Run.ID, r.Run.AgentID, r.Late)
	rest := r.Failures
	for len(rest) > 0 {
		first, all := rest[0], len(rest)
		rest = slices.DeleteFunc(slices.Clone(rest), func(f host.ModelFailure) bool { return f == first })
		lines.ModelErrors(r.Key, r.Run.ID, r.Run.AgentID, first.Provider, first.Model, first.Kind, all-len(rest))
	}
	if r.Ended {
		lines.Ended(r.Key, r.Run)
	}
}
