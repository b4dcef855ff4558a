package sim

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
)

// look checks that accepted input is there: queued, open, or visibly over.
func (ins *inputs) look() {
	h := &ins.th.p.head
	if h.Deleted {
		return
	}
	for id, in := range ins.accepted {
		_, queued := h.Queues(id)
		listed := queued || h.Open() && h.Run.Dispatch == id
		switch {
		case listed && in.over != "":
			ins.th.fail("input %s was %s and is open again", in.name, in.over)
		case listed || in.over != "":
		default:
			if in.over = ins.fate(id, in); in.over == "" {
				ins.th.fail("input %s was accepted and is lost", in.name)
			}
		}
	}
}

// fate is how input that the head no longer lists ended, as a reader finds it; "" when no
// record has its end.
func (ins *inputs) fate(id core.ID, in *input) string {
	if ins.reads[in.name] > 0 {
		return "read"
	}
	for _, run := range []core.ID{in.run, id} {
		if final, ok := ins.th.runs.ended[run]; ok && final.dispatch == id {
			return "the run that ended"
		}
	}
	r, ok := ins.th.p.record(recordname.Ended(id))
	if !ok || r.Version > ins.th.p.head.Version {
		return ""
	}
	audit, err := ins.th.w.checks.DecodeAudit(r.Payload)
	if err != nil {
		ins.th.fail("audit %s is unreadable: %v", r.Name, err)
	}
	return "ended " + string(audit.Status)
}
