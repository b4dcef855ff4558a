package thread_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

// The layout is stored for good: a change of these bytes needs a new schema
// number and a decoder for the old one.
func TestEncodedHeadIsFixedForGood(t *testing.T) {
	h := thread.Head{
		Schema: 1, Version: 300, CommitID: id("c"), Incarnation: 7, Owner: "ann", Epoch: 2, Fence: 5, Seq: 9, Summary: 4, DueAt: 1,
		Run: thread.Run{
			ID: id("r"), Dispatch: id("d"), Cursor: thread.CursorTools, Step: 3, Base: 10,
			Calls: []thread.CallStatus{thread.CallDone, thread.CallSuspended}, Parent: &thread.Parent{Thread: "p", Run: id("q"), Call: 1},
		},
		Claim:   thread.Held{Fence: 5, Epoch: 2, Dispatch: id("d"), Worker: "w", Lease: 6, Attempts: 1},
		Pending: []thread.Dispatch{{ID: id("e"), Run: id("s"), Priority: 128, AvailableAt: 8, Dedupe: 11}},
		Tickets: []thread.Ticket{{Call: 1, Kind: thread.TicketChild, ID: 12, Deadline: 13}},
		Inbox:   []thread.InboxEntry{{ID: id("i"), Revision: 1, Kind: thread.InboxInternal}},
		Notify:  &thread.Notify{Child: id("k"), Parent: thread.Parent{Thread: "p", Run: id("q")}, Retry: 14},
		Later:   []thread.Notify{{Child: id("l"), Parent: thread.Parent{Thread: "p", Run: id("q")}, Retry: 15}},
		Recent:  []uint64{11},
	}
	z := "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	want := "\x01" + "\xac\x02" + "c" + z + "\x07" + "\x03ann" + "\x78" + "\x02\x05\x09\x04\x01" +
		"r" + z + "d" + z + "\x00\x00\x02\x03\x0a\x00\x00" + "\x02\x05\x02" + "\x01p" + "q" + z + "\x01" +
		"\x05\x02" + "d" + z + "\x01w" + "\x06\x01" +
		"\x01" + "e" + z + "s" + z + "\x80\x08\x0b\x00" +
		"\x01" + "\x01\x02\x0c\x00\x0d" +
		"\x01" + "i" + z + "\x01\x01" +
		"k" + z + "\x01p" + "q" + z + "\x00\x0e" + "\x01" + "l" + z + "\x01p" + "q" + z + "\x00\x0f" +
		"\x01" + "\x00\x00\x00\x00\x00\x00\x00\x0b"
	got := h.AppendBinary([]byte("before"))
	if diff := cmp.Diff("before"+want, string(got)); diff != "" {
		t.Error(diff)
	}
	decoded, err := thread.Decode([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, decoded); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRefusesWhatNoEncoderWrites(t *testing.T) {
	h := must(t, thread.Head{}, thread.Enqueue{Dispatch: id("d"), Run: id("r")}, thread.Claim{Worker: "w", Lease: 30_000})
	good := h.AppendBinary(nil)
	edit := func(at int, b ...byte) []byte { return append(append(bytes.Clone(good[:at]), b...), good[at+1:]...) }
	// Schema 0, version 1, commit id 2..17, incarnation 18, no owner 19, flags 20.
	tests := []struct {
		name string
		b    []byte
	}{
		{"nothing", nil},
		{"schema 0", edit(0, 0)},
		{"a version in two bytes", edit(1, 0x82, 0)},
		{"a version without an end", append(bytes.Clone(good[:1]), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)},
		{"an owner longer than the rest", edit(19, 0xff, 0x7f)},
		{"a ready run that is not there", edit(20, 1<<2)},
		{"no claim, to close", edit(20, 1<<5|1<<7)},
		{"one byte more", append(bytes.Clone(good), 0)},
		{"one byte less", good[:len(good)-1]},
		{"nine tickets", append(bytes.Clone(good[:len(good)-3]), 9)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := thread.Decode(tt.b)
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Errorf("error %v, want corrupt", err)
			}
			if diff := cmp.Diff(thread.Head{}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := thread.Decode(edit(0, 2)); !errors.Is(err, thread.ErrSchema) {
		t.Errorf("a newer schema is %v, want ErrSchema", err)
	}
}

func FuzzDecode(f *testing.F) {
	for seed := range uint64(20) {
		w := newWorld(rand.New(rand.NewPCG(seed, 2)))
		for range 40 {
			w.do(w.action())
		}
		f.Add(w.head.AppendBinary(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := thread.Decode(b)
		if err != nil {
			if code := core.CodeOf(err); code != core.CodeCorrupt && code != core.CodeSchema {
				t.Fatalf("code %s: %v", code, err)
			}
			return
		}
		if again := h.AppendBinary(nil); !bytes.Equal(b, again) {
			t.Fatalf("%x was decoded, and is encoded as %x", b, again)
		}
		if h.Size() != len(b) {
			t.Fatalf("size %d of %d bytes", h.Size(), len(b))
		}
	})
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add([]byte(`{"run":"01020304-0000-0000-0000-000000000000","step":1,"message":{"id":"m","role":"user","content":[{"type":"text","text":"hi"}]}}`))
	f.Add([]byte(`{"run":"01020304-0000-0000-0000-000000000000","command":{"batch":{"mutations":[{"key":"k","update":1}]},"effects":[{"key":"e"}]}}`))
	f.Add([]byte(`{"run":"","message":{"id":"m","role":"tool","tool_result":{"call_id":"c","name":"n","data":{"a":[1,2]}}}}{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := thread.DecodeEntry(b)
		if err != nil {
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Fatalf("code %s: %v", core.CodeOf(err), err)
			}
			return
		}
		once, err := e.Encode()
		if err != nil {
			t.Fatalf("%s was decoded and cannot be encoded: %v", b, err)
		}
		again, err := thread.DecodeEntry(once)
		if err != nil {
			t.Fatalf("%s does not decode: %v", once, err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s became %s (%v)", once, twice, err)
		}
	})
}

func TestDecodeEntryRefuses(t *testing.T) {
	tests := []struct{ name, text string }{
		{"nothing", ""},
		{"an unknown field", `{"run":"","steps":1}`},
		{"another shape", `[]`},
		{"more behind it", `{"run":""} {"run":""}`},
		{"a run that is no id", `{"run":"1"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := thread.DecodeEntry([]byte(tt.text)); core.CodeOf(err) != core.CodeCorrupt {
				t.Errorf("error %v, want corrupt", err)
			}
			if _, err := thread.DecodeQueued([]byte(tt.text)); core.CodeOf(err) != core.CodeCorrupt {
				t.Errorf("queued input: error %v, want corrupt", err)
			}
		})
	}
}

func TestEntriesAndQueuedInputKeepTheirForm(t *testing.T) {
	message := core.UserMessage("m1", "hello")
	entry := thread.Entry{Run: core.ID{1}, Step: 2, Message: &message}
	b, err := entry.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"run":"01000000-0000-0000-0000-000000000000","step":2,"message":{"id":"m1","role":"user","content":[{"type":"text","text":"hello"}]}}`, string(b)); diff != "" {
		t.Error(diff)
	}
	queued := thread.Queued{Run: core.ID{1}, Dispatch: core.ID{2}, AgentID: "demo", Messages: []core.Message{message}, CreatedAt: 3}
	if b, err = queued.Encode(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"run":"01000000-0000-0000-0000-000000000000","dispatch":"02000000-0000-0000-0000-000000000000","agent_id":"demo",`+
		`"messages":[{"id":"m1","role":"user","content":[{"type":"text","text":"hello"}]}],"created_at":3}`, string(b)); diff != "" {
		t.Error(diff)
	}
	got, err := thread.DecodeQueued(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(queued, got); diff != "" {
		t.Error(diff)
	}
	broken := thread.Entry{Message: &core.Message{ToolResult: &core.ToolResult{Data: json.RawMessage("{")}}}
	if _, err := broken.Encode(); core.CodeOf(err) != core.CodeInternal {
		t.Errorf("error %v, want internal", err)
	}
}
