package runtime

// Working is how many runs this process works on now: each holds the claim of its
// thread, or is about to take it.
func (r *Runtime) Working() int {
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	return r.turns.running
}

// Followers is how many readers follow a thread in this process, and are told of what
// becomes of it: streams whose run another works on, or that waits.
func (r *Runtime) Followers() int {
	r.watches.mu.Lock()
	defer r.watches.mu.Unlock()
	n := 0
	for _, at := range r.watches.threads {
		n += at.followers
	}
	return n
}
