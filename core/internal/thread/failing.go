package thread

// failingTag is the tag of the extension with the time since when the model of the open
// run fails. It is an extension, so that a head has it only in an outage, and programs that
// do not know it carry it through. They do not remove it at progress: it holds for the step
// that it names alone, and so for the inference during which it was noted.
const failingTag = 2

// FailingSince is the time since when the provider of the open run's model fails, in unix
// milliseconds, if the run is to call the model again: its next inference continues from
// there. Progress ends it. 0: no call has failed, or the run has no patience with its model
// (see agent.Retry).
func (h *Head) FailingSince() int64 {
	if !h.Open() || h.Run.Status == Closing || h.Run.Cursor == CursorTools {
		return 0
	}
	value, ok := h.extension(failingTag)
	if !ok {
		return 0
	}
	r := reader{b: value}
	step, since := r.uint(), r.time()
	if r.bad || step != uint64(h.Run.Step) {
		return 0
	}
	return since
}

// noteFailing notes the time for the run's next step; 0 removes it.
func (h *Head) noteFailing(since int64) {
	if since == h.FailingSince() {
		return
	}
	if since == 0 {
		h.setExtension(failingTag, nil)
		return
	}
	w := writer{}
	w.uint(uint64(h.Run.Step))
	w.time(since)
	h.setExtension(failingTag, w.b)
}

// dropFailing removes a time that does not hold any more.
func dropFailing(h *Head) {
	if _, ok := h.extension(failingTag); ok && h.FailingSince() == 0 {
		h.setExtension(failingTag, nil)
	}
}

// extension returns the open run's value of a tag.
func (h *Head) extension(tag uint64) (value []byte, ok bool) {
	for _, e := range h.Extensions {
		if e.Tag == tag && e.Run == h.Run.ID {
			return e.Value, true
		}
	}
	return nil, false
}

// setExtension replaces the value of a tag, or removes it if the value is empty. The old
// list is shared with other heads.
func (h *Head) setExtension(tag uint64, value []byte) {
	kept := make([]Extension, 0, len(h.Extensions)+1)
	for _, e := range h.Extensions {
		if e.Tag != tag {
			kept = append(kept, e)
		}
	}
	if len(value) > 0 {
		kept = append(kept, Extension{Run: h.Run.ID, Tag: tag, Value: value})
	}
	if len(kept) == 0 {
		kept = nil
	}
	h.Extensions = kept
}
