package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/run/inference"
	"github.com/reveille-run/reveille/core/thread"
)

// addFailure puts the failure into the draft, with what the hooks before the
// inference changed. Tokens of the calls that failed are in the totals, as far as they are known. noted
// is what the step has come to about summaries; nil: nothing.
func (d *draft) addFailure(failed *thread.Failure, t *inference.Turn, noted *core.Window) {
	d.totals.Steps = d.base.holder.events.Step()
	d.totals.EndStep(true)
	entry := thread.Entry{Run: d.base.holder.id, Step: d.base.holder.events.Step(), At: d.base.holder.at, Failed: failed, Attempt: d.base.holder.events.Fence(), Member: t.FailedMember(), Window: noted}
	d.movePatches(&entry)
	d.add(entry)
}
