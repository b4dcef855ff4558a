package thread

import (
	"encoding/binary"

	"github.com/reveille-run/reveille/core"
)

// Totals are the figures of a run so far, so that neither a cold step nor a stop
// policy has to read the whole run. A copy shares the rings: they are replaced and
// never changed.
type Totals struct {
	Usage core.Usage `json:"usage,omitzero"`
	// Spend is what Usage has cost, by the prices of the time. It is counted only of
	// tenants whose money is limited; else 0.
	Spend    core.USD `json:"spend_usd,omitempty"`
	Steps    int      `json:"steps"`
	Called   int      `json:"called,omitempty"`   // tool calls of its turns
	Failures int32    `json:"failures,omitempty"` // results that are errors
	// ErrorSteps is how many steps in a row have failed: see [Totals.EndStep]. In a
	// turn's record its own step is not among them yet, unless it has no calls.
	ErrorSteps int32 `json:"error_steps,omitempty"`
	// Repairs is how often the model had to correct its answer.
	Repairs int32 `json:"repairs,omitempty"`
	// Calls is a ring of fingerprints of the newest tool calls, 4 bytes each, at
	// most 64, oldest first: see [Totals.Note].
	Calls []byte `json:"calls,omitempty"`
	// Turns is a ring of fingerprints of the newest turns, at most 64, oldest first:
	// 4 bytes for a turn's calls and 4 for its text. Only runs with stop policies that
	// may look at it have one: see [Totals.NoteTurn].
	Turns []byte `json:"turns,omitempty"`
	// Metered is the usage of the run, for billing; nil if usage is not metered. Like
	// the rings it is replaced and never changed.
	Metered *Metered `json:"metered,omitempty"`
}

const (
	fingerprintSize = 4
	maxFingerprints = 64
)

// Note adds a call's fingerprint to the ring.
func (t *Totals) Note(call core.ToolCall) {
	t.Calls = push(t.Calls, maxFingerprints*fingerprintSize, Fingerprint(call))
}

// NoteTurn adds a turn's fingerprints to the ring of turns.
func (t *Totals) NoteTurn(turn *core.Message) {
	t.Turns = push(t.Turns, maxFingerprints*2*fingerprintSize, callsPrint(turn.ToolCalls), textPrint(turn.Content))
}

// push returns a ring with fingerprints added, in separate memory: the old one
// belongs to totals that others read.
func push(old []byte, most int, prints ...uint32) []byte {
	old = old[max(len(old)+len(prints)*fingerprintSize-most, 0):]
	ring := append(make([]byte, 0, len(old)+len(prints)*fingerprintSize), old...)
	for _, p := range prints {
		ring = binary.BigEndian.AppendUint32(ring, p)
	}
	return ring
}

// TurnPrints returns the ring of turns, an element for each: its calls, 0 for none,
// and its text, 0 for no text.
func (t *Totals) TurnPrints() (calls, texts []uint32) {
	n := len(t.Turns) / (2 * fingerprintSize)
	if n == 0 {
		return nil, nil
	}
	all := make([]uint32, 2*n)
	calls, texts = all[:n:n], all[n:]
	for i := range n {
		calls[i] = binary.BigEndian.Uint32(t.Turns[2*i*fingerprintSize:])
		texts[i] = binary.BigEndian.Uint32(t.Turns[(2*i+1)*fingerprintSize:])
	}
	return calls, texts
}

// EndStep counts a step that has ended. It has failed if its inference did, or if its
// calls have: see [Outcomes].
func (t *Totals) EndStep(failed bool) {
	if t.ErrorSteps++; !failed {
		t.ErrorSteps = 0
	}
}

// Outcomes are the outcomes of the calls of a round. The zero value has none.
type Outcomes struct{ failed, succeeded bool }

// Add takes the result of a call in. One that a person has refused or cancelled, or
// that was not executed because the run was ended, has neither failed nor succeeded.
func (o *Outcomes) Add(r *core.ToolResult) {
	switch r.Status {
	case core.ResultDenied, core.ResultCancelled, core.ResultNotExecuted:
		return
	}
	if r.IsError {
		o.failed = true
	} else {
		o.succeeded = true
	}
}

// Failed reports whether a call has failed and none has succeeded.
func (o Outcomes) Failed() bool { return o.failed && !o.succeeded }

// The parameters of FNV-1a with 32 bits.
const (
	fnvOffset = 2166136261
	fnvPrime  = 16777619
)

// Fingerprint is a hash (FNV-1a, 32 bits) of a call's tool and arguments: equal
// calls have equal ones.
func Fingerprint(call core.ToolCall) uint32 {
	h := hash(fnvOffset, call.Name)
	h *= fnvPrime // a zero byte between the two
	return hash(h, call.Arguments)
}

func hash[T string | ~[]byte](h uint32, text T) uint32 {
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * fnvPrime
	}
	return h
}

// callsPrint is the fingerprint of calls in their order, never 0 when there are any.
func callsPrint(calls []core.ToolCall) uint32 {
	if len(calls) == 0 {
		return 0
	}
	h := uint32(fnvOffset)
	for _, c := range calls {
		var b [fingerprintSize]byte
		binary.BigEndian.PutUint32(b[:], Fingerprint(c))
		h = hash(h, b[:])
	}
	return max(h, 1)
}

// textPrint is the fingerprint of the text, without reasoning; never 0 when there is
// any.
func textPrint(content []core.Block) uint32 {
	h, some := uint32(fnvOffset), false
	for _, b := range content {
		if b.Type == core.BlockText && b.Text != "" {
			h, some = hash(h, b.Text), true
		}
	}
	if !some {
		return 0
	}
	return max(h, 1)
}
