package core

// Spent is the spending of a process: on a run, or by its requests to a store or a queue.
// For a run it is the part that no other process can find out: each write of the run's head
// adds the spending since the previous one, and a crash loses the spending since the
// newest. Units and requests are in hundredths.
type Spent struct {
	Handler   int64 // milliseconds of a handler, shared with concurrent work
	Write     int64 // write units that were counted
	Read      int64 // read units that were counted
	Queue     int64 // queue requests that were counted
	WriteMore int64 // write units that were estimated: those of the newest write itself
	QueueMore int64 // queue requests that were estimated: the hint after it
}

// Plus returns the sum of two, no figure of which is below 0.
func (s Spent) Plus(more Spent) Spent {
	return Spent{
		max(s.Handler+more.Handler, 0), max(s.Write+more.Write, 0), max(s.Read+more.Read, 0),
		max(s.Queue+more.Queue, 0), max(s.WriteMore+more.WriteMore, 0), max(s.QueueMore+more.QueueMore, 0),
	}
}

// ModelUse is the usage of one model.
type ModelUse struct {
	Provider   string `json:"provider,omitempty"`   // empty: the model was bound in code
	Model      string `json:"model"`                // the provider's name of it
	Usage      Usage  `json:"usage,omitzero"`       // as the provider has counted it, also of calls that failed
	Inferences int    `json:"inferences,omitempty"` // calls of the model that are known
	Millis     int64  `json:"millis,omitempty"`     // how long they took
}
