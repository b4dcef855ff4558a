package thread_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// without is a struct as a program had it before the named fields, with embedded structs
// laid out.
func without(record any, names ...string) reflect.Type {
	var fields []reflect.StructField
	for _, f := range reflect.VisibleFields(reflect.TypeOf(record)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.Anonymous && !slices.Contains(names, name) {
			fields = append(fields, reflect.StructField{Name: f.Name, Type: f.Type, Tag: f.Tag})
		}
	}
	return reflect.StructOf(fields)
}

// writtenByOlder is a record that a program without the named fields has read and written
// again, with a change: that of the field set.
func writtenByOlder(t *testing.T, record any, payload []byte, names []string, field string, value any) []byte {
	t.Helper()
	then := reflect.New(without(record, names...))
	if err := json.Unmarshal(payload, then.Interface()); err != nil {
		t.Fatal(err)
	}
	unknown, err := thread.UnknownIn(payload, then.Interface(), "schema", "extra")
	if err != nil {
		t.Fatal(err)
	}
	then.Elem().FieldByName(field).Set(reflect.ValueOf(value))
	b, err := (thread.Records{}).Encode("record", then.Interface())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.Contains(string(b), `"`+name+`":`) {
			t.Fatalf("the older program knows %q: %s", name, b)
		}
	}
	return unknown.AppendTo(b)
}

// renumbered returns an encoded entry in which some fields have other numbers, in ascending
// order.
func renumbered(t *testing.T, b []byte, numbers []protowire.Number, by protowire.Number) []byte {
	t.Helper()
	type field struct {
		number protowire.Number
		all    []byte
	}
	var fields []field
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		size := protowire.ConsumeFieldValue(number, kind, b[max(n, 0):])
		if n < 0 || size < 0 {
			t.Fatalf("no field: %x", b)
		}
		if slices.Contains(numbers, number) {
			number += by
		}
		fields = append(fields, field{number, append(protowire.AppendTag(nil, number, kind), b[n:n+size]...)})
		b = b[n+size:]
	}
	slices.SortStableFunc(fields, func(a, b field) int { return int(a.number - b.number) })
	var all []byte
	for _, f := range fields {
		all = append(all, f.all...)
	}
	return all
}

// A program of before each of these fields reads the records that have them, and writes them
// again: they are all there for the newer one. Turns, which no program writes again, are
// tried as results are. A listing and a prompt have their own tests: see
// TestRunsThatAnOlderProgramHasListed, and below.
func TestOlderProgramsCarryTheFieldsOfNewerOnes(t *testing.T) {
	var records thread.Records
	usage := core.Usage{Input: 9, Output: 2}
	attempts := []thread.Attempt{{Began: 5, Ended: 6, Model: "m", Reason: "overloaded", Wait: 3}, {Began: 9, First: 10, Ended: 12, Model: "m"}}
	run := thread.RunRecord{
		Run:    core.Run{ID: core.ID{1}, ThreadID: "t", AgentID: "a", Status: core.RunDone, CreatedAt: 3, WaitedMS: 4_000, Takeovers: 2, Calls: 7},
		Models: []core.ModelUse{use("p", "a", 1)}, Losses: []thread.Loss{{Step: 1, Claimed: 4, Lost: 5, Began: 6}, {Step: 2, Claimed: 7, Lost: 8}},
		Unfinished: &thread.Unfinished{Step: 3, At: 8, Ended: 12, Queued: 1, Retried: 1, Duration: 4, Usage: usage, Attempts: attempts},
	}
	temperature := 0.5
	said := core.Message{ID: "m", Role: core.RoleAssistant}
	turn := thread.Entry{
		Run: core.ID{1}, Step: 2, Message: &said, Queued: 700, First: 30, Attempts: attempts, Prompt: "0190ab",
		Sent: &thread.Sent{MaxTokens: 9, Temperature: &temperature, After: []core.Message{core.UserMessage("go on").WithID("n")}, Parts: []thread.SentPart{{From: 1, Count: 2}}},
	}
	failed := thread.Entry{Run: core.ID{1}, Step: 2, Queued: 1, Attempts: attempts, Failed: &thread.Failure{Kind: "overloaded", At: 9}}
	answered := thread.Entry{Run: core.ID{1}, Step: 2, Message: &core.Message{ID: "r", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "c"}}, Arguments: json.RawMessage(`{"a":1}`)}
	ofRun := []string{"unfinished", "losses", "models", "waited_ms", "takeovers", "calls"}
	ofEntry := []protowire.Number{16, 14, 31, 10, 33, 32, 26} // queued, first, attempts, prompt, sent, arguments
	for name, entry := range map[string]thread.Entry{"a turn": turn, "a failed inference": failed, "a result": answered} {
		b, err := records.EncodeEntry(&entry)
		if err != nil {
			t.Fatal(err)
		}
		older := renumbered(t, b, ofEntry, 500) // these are not its fields
		then, err := records.DecodeEntry(older)
		if err != nil || then.Prompt != "" || then.Queued != 0 || then.Attempts != nil || then.Arguments != nil {
			t.Fatalf("%s: the older program reads %+v, %v", name, then, err)
		}
		then.Place, entry.Place = 4, 4
		if older, err = records.EncodeEntryAgain(&then, older); err != nil {
			t.Fatal(err)
		}
		for i := range ofEntry {
			ofEntry[i] += 500
		}
		got, err := records.DecodeEntry(renumbered(t, older, ofEntry, -500))
		for i := range ofEntry {
			ofEntry[i] -= 500
		}
		if diff := cmp.Diff(entry, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	b, err := records.EncodeRun(&run)
	if err != nil {
		t.Fatal(err)
	}
	got, err := records.DecodeRun(writtenByOlder(t, thread.RunRecord{}, b, ofRun, "Steps", 5))
	run.Steps = 5
	if diff := cmp.Diff(run, got); diff != "" || err != nil {
		t.Errorf("a run: %v (-want +got):\n%s", err, diff)
	}
}

// A program of before a member of a part writes the part again without it, and a listing as
// it knows it: both then say what such a program's own say, that it is not known.
func TestWhatAnOlderProgramDoesNotCarry(t *testing.T) {
	var records thread.Records
	q, err := records.DecodeWholeQueued([]byte(`{"schema":1,"dispatch":"` + one + `","messages":null,"created_at":3,"parent":{"thread":"p","run":"` + two + `","call":1,"mood":"calm"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := records.EncodeQueued(&q); err != nil || strings.Contains(string(b), "mood") || !strings.Contains(string(b), `"parent":{"thread":"p"`) {
		t.Errorf("the input is written again as %s, %v", b, err)
	}
	listed := thread.Listing{List: "l", At: 9, AgentID: "a", Parent: "p", Origin: core.OriginInternal, Asked: "is it on?"}
	b, err := records.EncodeListing(&listed)
	if err != nil {
		t.Fatal(err)
	}
	then := reflect.New(without(thread.Listing{}, "parent", "origin", "asked"))
	if err := records.Decode("listing", b, then.Interface()); err != nil {
		t.Fatal(err)
	}
	if b, err = records.Encode("listing", then.Interface()); err != nil {
		t.Fatal(err)
	}
	got, err := records.DecodeListing(b)
	if diff := cmp.Diff(thread.Listing{List: "l", At: 9, AgentID: "a"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// The record of a prompt that a newer program has more to say in still has the hash of its
// bytes as its name.
func TestAPromptOfANewerProgramHasItsName(t *testing.T) {
	var records thread.Records
	payload, _, err := records.EncodePrompt(&thread.PromptRecord{System: "be brief", Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	payload = thread.Unknown{"mood": json.RawMessage(`"calm"`)}.AppendTo(payload)
	sum := sha256.Sum256(payload)
	got, err := records.DecodePrompt(hex.EncodeToString(sum[:16]), payload)
	if diff := cmp.Diff(thread.PromptRecord{System: "be brief", Limit: 9}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// byOlder applies changes as a program does that knows no extension: it has this one's times
// under a tag that it does not know, and notes none. The head must have no claim of this
// program: [thread.Claim].Queued has no extension, so that an older one refuses such a head.
func byOlder(t *testing.T, h thread.Head, at int64, changes ...thread.Change) thread.Head {
	t.Helper()
	const known, unknown = 1, 900
	tagged := func(h thread.Head, from, to uint64) thread.Head {
		var kept []thread.Extension
		for _, e := range h.Extensions {
			if e.Tag == from {
				kept = append(kept, thread.Extension{Run: e.Run, Tag: to, Value: e.Value})
			}
		}
		h.Extensions = kept
		return h
	}
	h = tagged(h, known, unknown)
	for _, c := range changes {
		h = timed(t, h, at, c)
		h.Claim.Queued = 0
		h = tagged(h, unknown, unknown)
	}
	return tagged(h, unknown, known)
}

// The times of a run pass through heads that an older program writes. What happens under it
// is not noted: the newer one ends a wait, and begins what follows a loss, when it sees them.
func TestOlderProgramsCarryTheTimesOfARun(t *testing.T) {
	claim := func(worker string) thread.Change { return thread.TakeClaim{Worker: worker, Lease: 3_000, Alone: true} }
	h := timed(t, thread.Head{}, 1_000, thread.Enqueue{Dispatch: id("d"), Run: id("r")})
	h = timed(t, timed(t, timed(t, h, 2_000, claim("a")), 3_000, thread.Reclaim{}), 4_000, claim("a"))
	h = timed(t, h, 4_500, thread.Reclaim{})
	before := h.Times()
	if len(before.Losses) != 2 || before.Losses[1].Began != 0 {
		t.Fatalf("the losses are %+v, want two, and no claim after them", before.Losses)
	}
	h = byOlder(t, h, 5_000, claim("b"), thread.CommitTurn{Fence: 3, Seq: 1, Calls: 1, TurnFence: 3}, thread.Nack{Fence: 3})
	if diff := cmp.Diff(before, h.Times()); diff != "" {
		t.Errorf("behind an older program (-want +got):\n%s", diff)
	}
	h = timed(t, h, 6_000, claim("c"))
	if got := h.Times().Losses[1].Began; got != 6_000 {
		t.Errorf("the next claim that a newer program took began at %d, want 6000", got)
	}
	ticket := []thread.Ticket{{Call: 0, ID: 5, Kind: thread.TicketPerson}}
	h = timed(t, h, 7_000, thread.CommitStep{Fence: 4, From: 1, Seq: 1, Outcome: thread.Wait, Calls: []thread.CallStatus{thread.CallSuspended}, Tickets: ticket})
	before = h.Times()
	h = byOlder(t, h, 8_000, thread.Decide{Run: id("r"), Call: 0, Ticket: 5, Decision: 7, Resume: true})
	if diff := cmp.Diff(before, h.Times()); diff != "" || before.Since != 7_000 {
		t.Errorf("when an older program took the decision (-want +got):\n%s", diff)
	}
	h = timed(t, h, 8_500, claim("d"))
	if got := h.Times(); got.Since != 0 || got.Waited != 1_500 || len(got.Losses) != 2 {
		t.Errorf("when a newer one goes on: %+v, want 1500 ms and both losses", got)
	}
}
