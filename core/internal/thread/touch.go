package thread

// Touch moves the version and nothing else. Who holds no claim and meets other
// bytes at the version of its own rewritable record takes the next version so.
type Touch struct{}

func (Touch) apply(h *Head, _ Transition) (Result, error) {
	if !h.Exists() {
		return Result{}, ErrNotFound
	}
	return Result{}, nil
}
