package agui

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// The protocol's state is one value of the thread, plugin.SharedState. The members that a
// client sends are set in it, and the client receives the result and the changes that tools
// make. Custom events show all other state, which belongs to the agent: a client cannot
// change it.

// shared is where the state that frontends share lies.
var shared = state.KeyPath{Scope: state.ScopeThread, Name: plugin.SharedState.Name}

func isShared(key state.KeyPath) bool { return key == shared }
func isOwn(key state.KeyPath) bool    { return key != shared }

// sharedState is the shared state as the thread has it, and as the client has it.
type sharedState struct {
	fold   *state.Fold     // nil: not known
	client json.RawMessage // canonical; nil: not known
	sent   bool            // the client has sent it, and the thread may not have it yet
	rest   bool            // the client has the rest, and receives each change of it
}

// sentBy notes what a client has sent as its state.
func (s *sharedState) sentBy(text json.RawMessage) {
	if text = canonical(text); text != nil {
		s.client, s.sent = text, true
	}
}

// canonical spells a value as snapshots do; nil: it has no such form.
func canonical(text json.RawMessage) json.RawMessage {
	value, ok := state.Snapshot{}.With(0, map[state.KeyPath]json.RawMessage{shared: text}).Value(shared)
	if !ok {
		return nil
	}
	return value
}

// value is the thread's value; nil: there is no value, or it is not known.
func (s *sharedState) value() json.RawMessage {
	if s.fold == nil {
		return nil
	}
	value, _ := s.fold.Snapshot().Value(shared)
	return value
}

// taken reports whether the thread's value has each member that the client sent.
func (s *sharedState) taken() bool {
	var sent, has map[string]json.RawMessage
	if json.Unmarshal(s.client, &sent) != nil || json.Unmarshal(s.value(), &has) != nil {
		return false
	}
	for name, value := range sent {
		if !bytes.Equal(value, has[name]) {
			return false
		}
	}
	return true
}

// snapshot takes a snapshot of all that readers are shown. rest is what of it is not
// shared; nil: nothing.
func (s *sharedState) snapshot(document json.RawMessage, revision uint64) (rest json.RawMessage) {
	var all struct {
		Thread map[string]json.RawMessage `json:"thread"`
		Run    map[string]json.RawMessage `json:"run"`
	}
	if json.Unmarshal(document, &all) != nil {
		return nil
	}
	values := map[state.KeyPath]json.RawMessage{}
	if value, ok := all.Thread[shared.Name]; ok {
		values[shared] = value
		delete(all.Thread, shared.Name)
	}
	s.fold = state.Snapshot{}.With(revision, values).Fold()
	if len(all.Thread)+len(all.Run) == 0 {
		return nil
	}
	rest, _ = core.EncodeJSON(all) // it was decoded
	return rest
}

// change applies a patch. It returns the changes for the client: a delta for its state,
// and for the rest the unchanged patch. whole reports that the delta does not suffice.
func (s *sharedState) change(text json.RawMessage, revision uint64) (delta, rest json.RawMessage, whole bool) {
	var patch state.Patch
	if json.Unmarshal(text, &patch) != nil {
		return nil, nil, false
	}
	if own := patch.Only(isOwn); len(own) > 0 {
		rest, _ = core.EncodeJSON(own)
	}
	ours := patch.Only(isShared)
	if len(ours) == 0 {
		return nil, rest, false
	}
	if s.fold == nil {
		s.fold = state.Snapshot{}.Fold()
	}
	if s.fold.Apply(ours, revision) != nil { // it is not what the patch was made for
		s.fold = nil
	}
	var inner []state.Operation
	for _, o := range ours {
		path := strings.TrimPrefix(o.Path, shared.String())
		if path == "" {
			return nil, rest, true
		}
		inner = append(inner, state.Operation{Op: o.Op, Path: path, Value: o.Value})
	}
	delta, _ = core.EncodeJSON(inner)
	return delta, rest, false
}

// stateSnapshot sends the client a state that it does not have. If the client has sent a
// state, it receives nothing until the thread has the members of that; then it receives the
// whole value, even if it is equal to the one that it sent.
func (e *encoder) stateSnapshot(event core.Event) {
	if rest := e.state.snapshot(event.Snapshot, event.Revision); rest != nil && !e.state.rest {
		e.state.rest = true
		e.custom("reveille.state_snapshot", rest)
	}
	if e.state.sent && !e.state.taken() {
		return
	}
	e.showSent()
	e.showState()
}

// showSent records that the thread has the state that the client sent. The next showState
// sends the value, even if the client has another.
func (e *encoder) showSent() {
	if e.state.sent {
		e.state.sent, e.state.client = false, nil
	}
}

// stateDelta tells the client of a change, by a patch where it has what the patch is
// made for.
func (e *encoder) stateDelta(event core.Event) {
	delta, rest, whole := e.state.change(event.Patch, event.Revision)
	if rest != nil {
		e.state.rest = true
		e.custom("reveille.state_delta", rest)
	}
	switch {
	case delta == nil && !whole:
	case whole || e.state.sent || e.state.client == nil && e.state.fold != nil:
		e.showSent()
		e.showState()
	default:
		e.emit(wireDelta(delta))
		e.state.client = e.state.value()
	}
}

func wireDelta(delta json.RawMessage) event { return event{Type: "STATE_DELTA", Delta: delta} }

// showState tells the whole state, unless the client has it.
func (e *encoder) showState() {
	value := e.state.value()
	if value == nil && e.state.fold != nil && e.state.client != nil { // it was taken away
		value = json.RawMessage("{}")
	}
	if value == nil || bytes.Equal(value, e.state.client) {
		return
	}
	e.state.client = value
	e.emit(event{Type: "STATE_SNAPSHOT", Snapshot: value})
}

// custom tells what the protocol has no event for.
func (e *encoder) custom(name string, value any) {
	e.emit(event{Type: "CUSTOM", Name: name, Value: value})
}
