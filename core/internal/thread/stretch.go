package thread

import "github.com/reveille-run/reveille/core"

// Stretch is a part of a run between two waits: from the claim that starts or resumes
// it to the write that waits or ends. Its usage is recorded once, under its number,
// in the hour of Since. Both are in the head, so that a claim that ends it after a
// crash writes the same record again.
type Stretch struct {
	Number uint64     // from 0
	Since  int64      // unix milliseconds of the claim that began it; 0: there is no stretch
	Over   bool       // the run waits since: the next claim begins another
	Spent  core.Spent // what its writes so far have said
	// Behind is the version of the head by which the run has waited before it, or, if
	// the run is over, waits since; 0: never. The record of the run has a base for
	// it.
	Behind uint64
	// Wasted is the version of the head that put the usage record of the run's void
	// turns in force; 0: no such record.
	Wasted uint64
}

// figures are those of what was spent, as the head encodes them.
func figures(s *core.Spent) [6]*int64 {
	return [...]*int64{&s.Handler, &s.Write, &s.Read, &s.Queue, &s.WriteMore, &s.QueueMore}
}

// going reports whether there is a stretch, and what the run uses counts for it.
func (s *Stretch) going() bool { return s.Since != 0 && !s.Over }

// Spend adds what is known only when the records of a write are: what the write itself will
// cost. It is for a head that Apply has returned and that is not shared yet.
func (s *Stretch) Spend(more core.Spent) {
	if s.going() {
		s.Spent = s.Spent.Plus(more)
	}
}

// Waste puts the record of wasted calls in force that goes with the head of a version, which
// Apply has returned and which is not shared yet.
func (s *Stretch) Waste(version uint64) {
	if s.going() {
		s.Wasted = version
	}
}

// meter notes in the next head the place of the open run's stretch: the first claim
// starts it, a wait or the run's end ends it, and the claim after a wait starts the
// next. It returns the stretch that the write ends, nil when it ends none.
func (h *Head) meter(before *Head, t Transition) (ended *Stretch) {
	s := before.Run.Stretch
	s.Spent = s.Spent.Plus(t.Spent)
	switch over := h.Run.ID != before.Run.ID || h.Run.Status == Waiting; {
	case s.going() && over:
		last := s // here, so that other writes allocate nothing
		ended = &last
		if h.Open() {
			h.Run.Stretch = Stretch{Number: s.Number, Since: s.Since, Over: true, Behind: h.Version}
		}
	case s.going():
		h.Run.Stretch = s
	case h.Claim.Fence != 0:
		next := Stretch{Since: max(t.Now, 1), Spent: t.Spent}
		if last := h.Run.Stretch; last.Since != 0 {
			next.Number, next.Behind = last.Number+1, last.Behind
		}
		h.Run.Stretch = next
	}
	return ended
}
