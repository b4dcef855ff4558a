package sim

import (
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// checkListings: a run is listed for the owner of its thread, in a bounded size, by the start
// of an input that it has read. After an edit the listing may be lost, and has what was
// submitted, or an earlier edit. A process that died before it made a thread may leave a
// listing without a head: no list shows it, and it is not checked.
func (th *threadState) checkListings(h *thread.Head) {
	if !h.Exists() {
		return
	}
	for name, r := range th.p.records {
		id, isListing := strings.CutPrefix(name, recordname.Activity)
		if !isListing || id == "" || strings.HasPrefix(name, recordname.FailedMessages) {
			continue
		}
		run, err := core.ParseID(id)
		if err != nil {
			th.fail("%s lists no run: %v", name, err)
			continue
		}
		l, err := th.w.checks.DecodeListing(r.Payload)
		if err != nil || l.List != recordname.RunsList(h.Owner) {
			th.fail("%s is in list %q of a thread of %q (%v)", name, l.List, h.Owner, err)
		}
		if text, err := wire.JSON(l.Asked); err != nil || len(text) > thread.MaxAsked+len(`""`) {
			th.fail("%s has %d bytes of its input (%v)", name, len(text), err)
		}
		if l.Asked != "" && th.w.config.Faults == 0 && !th.logged.asked(run, l.Asked) && !th.submitted(run, l.Asked) {
			th.fail("%s has the input %q, which the run has not read", name, l.Asked)
		}
	}
}

// asked reports whether the thread has read an input that begins so, or the run none. A run
// that continues another is listed by the input of that one.
func (lo *logged) asked(run core.ID, start string) bool {
	read := false
	for _, e := range lo.entries {
		if e.Message == nil || !e.Message.IsInput() {
			continue
		}
		if read = read || e.Run == run; thread.Short(thread.Asked([]core.Message{*e.Message}, e.Message.RunID)) == start {
			return true
		}
	}
	return !read
}

// submitted reports whether the input of a run began so before it was edited, or edited again.
func (th *threadState) submitted(run core.ID, start string) bool {
	for name, r := range th.p.records {
		if !strings.HasPrefix(name, "Q#") || !strings.HasSuffix(name, "#0") && !th.inputs.edited[name] {
			continue
		}
		if in, err := th.w.checks.DecodeQueued(r.Payload); err == nil && in.Run == run && thread.Short(thread.Asked(in.Messages, core.ID{})) == start {
			return true
		}
	}
	return false
}
