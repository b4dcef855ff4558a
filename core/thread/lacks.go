package thread

// LacksSince is since when the open run is left to another build, in unix milliseconds:
// when one first gave it back for something of its agent that this build has not. 0: no
// build has, or one that has everything has taken the run on since. It is in the head,
// so that builds which know nothing of each other agree on how long that is.
func (h *Head) LacksSince() int64 {
	if !h.Open() {
		return 0
	}
	return h.since(tagLacks)
}

// leave notes that a build has given the run back so, the first time.
func (h *Head) leave(now int64) {
	if h.extension(tagLacks) < 0 {
		h.keepSince(tagLacks, now)
	}
}

// lacks forgets it when a build takes the run on that has everything. One that goes on
// without, because it was waited for long enough, leaves it: nobody waits again.
func (h *Head) lacks(something bool) {
	if i := h.extension(tagLacks); i >= 0 && !something {
		h.dropExtension(i)
	}
}
