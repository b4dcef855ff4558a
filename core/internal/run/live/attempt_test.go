package live_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Whose turn a head says is being said.
func TestTheAttemptOfAHead(t *testing.T) {
	id := core.ID{1}
	head := func(fence uint64, status thread.Status, cursor thread.Cursor, step uint32) thread.Head {
		return thread.Head{Run: thread.Run{ID: id, Status: status, Cursor: cursor, Step: step}, Claim: thread.Claim{Fence: fence}}
	}
	tests := []struct {
		name string
		head thread.Head
		want live.Attempt
		ok   bool
	}{
		{"no run", thread.Head{}, live.Attempt{}, false},
		{"the first step", head(7, thread.Running, thread.CursorStart, 0), live.Attempt{Run: id, Step: 1, Fence: 7}, true},
		{"a later one", head(7, thread.Running, thread.CursorInfer, 3), live.Attempt{Run: id, Step: 4, Fence: 7}, true},
		{"its tools", head(7, thread.Running, thread.CursorTools, 3), live.Attempt{}, false},
		{"no claim", head(0, thread.Running, thread.CursorInfer, 3), live.Attempt{}, false},
		{"its end", head(7, thread.Closing, thread.CursorInfer, 3), live.Attempt{}, false},
	}
	for _, tt := range tests {
		if got, ok := live.AttemptOf(tt.head); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %v, %t, want %v, %t", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestChunksThatCannotBeRead(t *testing.T) {
	a := live.Attempt{Run: core.ID{1}, Step: 2, Fence: 3}
	tests := []struct {
		payload string
		code    core.Code
	}{
		{"", core.CodeCorrupt},
		{`{"events":[]}`, core.CodeCorrupt},
		{`{"schema":1,"events":{}}`, core.CodeCorrupt},
		{`{"schema":1,"events":[{"event_type":"text_delta","at":"0"}]}`, core.CodeCorrupt},
		{`{"schema":1,"events":[{"event_type":"text_delta","at":"9.0-1-f"}]}`, core.CodeCorrupt},
		{`{"schema":3,"events":[]}`, core.CodeSchema},
		{`{"schema":1,"events":[{"event_type":"text_delta","delta":"x","at":"0-1-f","later":true}]}`, ""},
	}
	for _, tt := range tests {
		events, err := a.Events(thread.Records{}, store.Record{Name: recordname.Chunk(a.Prefix(), 0), Payload: []byte(tt.payload)})
		if core.CodeOf(err) != tt.code || err == nil && len(events) != 1 {
			t.Errorf("%s: %v, %v, want code %q", tt.payload, events, err, tt.code)
		}
	}
	if name := recordname.Chunk(a.Prefix(), 12); name != "E#01000000-0000-0000-0000-000000000000#2#3#000012" {
		t.Error(name)
	}
}
