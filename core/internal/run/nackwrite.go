package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// nackWrite releases the claim. Nothing of the log becomes visible; stored results
// stay, and their calls are done.
type nackWrite struct {
	codec    thread.Records
	account  *accounting.Run
	run      core.ID
	kind     thread.NackKind
	at       int64 // when the run is tried again, unix milliseconds; 0: at once
	closing  bool
	calls    []thread.CallStatus // of the open round; nil: none is known
	progress bool                // a result that this claim has stored is not done yet
	adopted  uint16
	through  *uint32
	failed   uint8             // model calls for the started turn
	failing  *int64            // since when they fail, see thread.Nack; nil: no turn was started
	unlogged *accounting.Spent // the usage for that turn, which counts unless the log has it; nil: none
	ended    *thread.EndRecord // what RunEnd has changed; nil: it has not run
	form     thread.Form       // of the run's end
	followed int64
}

// change implements write.
func (w *nackWrite) change(fence uint64) thread.Change {
	return thread.Nack{
		Fence: fence, Kind: w.kind, AvailableAt: w.at, Closing: w.closing, Followed: w.followed,
		Calls: w.calls, Progress: w.progress, Schema: w.adopted, ModelFailed: w.failed, Failing: w.failing, RunEnd: w.ended != nil,
		Through: w.through,
	}
}

// records implements write.
func (w *nackWrite) records(p *plan, next thread.Head, result thread.Result) {
	p.addAccounts(w.account.Settle(next, result, accounting.End{Unlogged: w.unlogged, LogEnd: next.Seq}))
	if w.ended != nil { // the claim that continues the end does not run RunEnd again
		p.add(endRecord(w.codec, w.ended, w.form, w.run, next.Version))
	}
}

// endRecord is the record of the changes of RunEnd, in the form that the end has,
// for a nack after it. version is that of the head that names it.
func endRecord(codec thread.Records, ended *thread.EndRecord, form thread.Form, run core.ID, version uint64) (store.Record, error) {
	end := *ended
	end.Form = form
	if form >= thread.FormStateless {
		end.Patch, end.Revision = nil, 0
	}
	payload, err := codec.Encode("end", &end)
	return store.Record{Name: recordname.End(run, version), Payload: payload}, err
}
