package thread

// Touch moves the version and nothing else. If a writer without a claim meets other
// bytes at the version of its rewritable record, it takes the next version with a
// Touch.
type Touch struct{}

func (Touch) apply(h *Head, _ Transition) (Result, error) {
	if !h.Exists() {
		return Result{}, ErrNotFound
	}
	return Result{}, nil
}
