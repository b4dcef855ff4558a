package runtime

// Working is how many runs this process works on now: each holds the claim of its
// thread, or is about to take it.
func (r *Runtime) Working() int {
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	return r.turns.running
}
