package thread_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

const trace = "4bf92f3577b34da6a3ce929d0e0e4736"

// What this program does not write stays in a record that it writes again, and is not in
// one that never had it.
func TestRecordsKeepWhatThisProgramDoesNotWrite(t *testing.T) {
	var records thread.Records
	run := func(b []byte) ([]byte, error) {
		r, err := records.DecodeRun(b)
		if err != nil {
			return nil, err
		}
		r.Steps++
		return records.EncodeRun(&r)
	}
	entry := func(b []byte) ([]byte, error) {
		e, err := records.DecodeEntry(b)
		if err != nil {
			return nil, err
		}
		e.Step++
		return records.EncodeEntryAgain(&e, b)
	}
	const aRun = `"thread_id":"t","agent_id":"a","status":"running",`
	tests := []struct {
		name         string
		write        func([]byte) ([]byte, error)
		stored, want string
	}{
		{
			"a run of an older program", run,
			`{"schema":1,"run_id":"` + one + `",` + aRun + `"steps":1,"created_at":3}`,
			`{"schema":1,"run_id":"` + one + `",` + aRun + `"steps":2,"created_at":3}`,
		},
		{
			"a run of a newer one", run,
			`{"schema":1,"run_id":"` + one + `",` + aRun + `"steps":1,"created_at":3,"trace_id":"` + trace + `","trace_sampled":true,"zeal":1}`,
			`{"schema":1,"run_id":"` + one + `",` + aRun + `"steps":2,"created_at":3,"trace_id":"` + trace + `","trace_sampled":true,"zeal":1}`,
		},
		{
			"a run whose trace is not collected", run,
			`{"schema":1,"run_id":"` + one + `",` + aRun + `"steps":1,"created_at":3,"trace_id":"` + trace + `"}`,
			`{"schema":1,"run_id":"` + one + `",` + aRun + `"steps":2,"created_at":3,"trace_id":"` + trace + `"}`,
		},
		{"an entry of an older program", entry, "1:1 2:" + oneID + " 3:1", "1:1 2:" + oneID + " 3:2"},
		{
			"an entry of a newer one", entry,
			"1:1 2:" + oneID + " 3:1 15:i7 33:`0190ab` 34:1 35:{}",
			"1:1 2:" + oneID + " 3:2 15:i7 33:`0190ab` 34:1 35:``",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.write(written(t, tt.stored))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, spelled(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatAnOlderProgramDidNotWriteReadsAsEmpty(t *testing.T) {
	var records thread.Records
	run, err := records.DecodeRun([]byte(`{"schema":1,"run_id":"` + one + `"}`))
	if err != nil || !run.Trace.IsZero() || run.Sampled {
		t.Errorf("the run has the trace %s, sampled %v (%v)", run.Trace, run.Sampled, err)
	}
	entry, err := records.DecodeEntry(written(t, "1:1 2:"+oneID))
	if err != nil || entry.Prompt != "" || entry.Sum != 0 {
		t.Errorf("the entry has the prompt %q and the sum %d (%v)", entry.Prompt, entry.Sum, err)
	}
}

// A program that knows no field of these takes them along as it does any other.
func TestAProgramWithoutTheFieldsTakesThemAlong(t *testing.T) {
	var older struct {
		Run string `json:"run_id"`
	}
	stored := []byte(`{"run_id":"` + one + `","trace_id":"` + trace + `","trace_sampled":true}`)
	unknown, err := thread.UnknownIn(stored, older)
	if err != nil {
		t.Fatal(err)
	}
	got := unknown.AppendTo([]byte(`{"schema":1,"run_id":"` + one + `"}`))
	run, err := thread.Records{}.DecodeRun(got)
	if err != nil || run.Trace.String() != trace || !run.Sampled {
		t.Errorf("%s: trace %s, sampled %v (%v)", got, run.Trace, run.Sampled, err)
	}
}

func TestATraceIDHas32HexDigits(t *testing.T) {
	tests := []struct {
		text string
		want string // the error
	}{
		{trace, ""},
		{"", ""},
		{trace[1:], "trace id of 31 bytes, want 32 hex digits"},
		{trace + "0", "trace id of 33 bytes, want 32 hex digits"},
		{trace[:31] + "g", `trace id "` + trace[:31] + `g" is not 32 hex digits`},
	}
	for _, tt := range tests {
		id := thread.TraceID{1}
		err := id.UnmarshalText([]byte(tt.text))
		if tt.want != "" {
			if core.CodeOf(err) != core.CodeInvalid || err.Error() != tt.want || id != (thread.TraceID{1}) {
				t.Errorf("%q: %s, error %v, want %s", tt.text, id, err, tt.want)
			}
			continue
		}
		text, failed := id.MarshalText()
		if err != nil || failed != nil || string(text) != tt.text || id.IsZero() != (tt.text == "") {
			t.Errorf("%q became %q, zero %v: %v, %v", tt.text, text, id.IsZero(), err, failed)
		}
	}
	if got := (thread.TraceID{0x4b, 15: 1}).String(); got != "4b000000000000000000000000000001" {
		t.Errorf("the text is %s", got)
	}
	if _, err := (thread.Records{}).DecodeRun([]byte(`{"schema":1,"trace_id":"4b"}`)); core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("a run of half a trace: error %v, want corrupt", err)
	}
}

// A prompt is found by the hash of its bytes, and is known by it.
func TestAPromptIsWhatItsHashSays(t *testing.T) {
	var records thread.Records
	prompt := thread.PromptRecord{System: "be brief", Tools: []thread.PromptTool{{Name: "sum", Parameters: json.RawMessage(`{"type":"object"}`)}}}
	payload, hash, err := records.EncodePrompt(&prompt)
	const want = "6744990f6768cb8511e3518b1a9a47ad"
	if err != nil || hash != want {
		t.Errorf("hash %s of %s (%v), want %s", hash, payload, err, want)
	}
	got, err := records.DecodePrompt(hash, payload)
	if diff := cmp.Diff(prompt, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	other := bytes.Replace(payload, []byte("brief"), []byte("quick"), 1)
	got, err = records.DecodePrompt(hash, other)
	if core.CodeOf(err) != core.CodeCorrupt || err.Error() != "decode prompt: its hash is b05846ef70dbafe66188944441fe88f8, and not "+want {
		t.Errorf("another prompt: error %v", err)
	}
	if diff := cmp.Diff(thread.PromptRecord{}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := records.DecodePrompt(hash, []byte(`{"schema":3}`)); core.CodeOf(err) != core.CodeSchema {
		t.Errorf("a newer program's: error %v, want schema", err)
	}
	if _, err := records.DecodePrompt(hash, []byte(`{"schema":1`)); core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("half of one: error %v, want corrupt", err)
	}
	broken := thread.PromptRecord{Tools: []thread.PromptTool{{Parameters: json.RawMessage("{")}}}
	if b, hash, err := records.EncodePrompt(&broken); core.CodeOf(err) != core.CodeInternal || b != nil || hash != "" {
		t.Errorf("no JSON: %s, %s, error %v, want internal", b, hash, err)
	}
}

func TestAnOutboxRecordIsReadAsItWasWritten(t *testing.T) {
	var records thread.Records
	record := thread.OutboxRecord{To: []thread.OutboxTarget{{Kind: "newer", Thread: "t", Run: core.ID{1}}}, Payload: json.RawMessage(`[1]`)}
	b, err := records.EncodeOutbox(&record)
	if err != nil {
		t.Fatal(err)
	}
	got, err := records.DecodeOutbox(b)
	if diff := cmp.Diff(record, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := records.DecodeOutbox([]byte(`{"schema":3}`)); core.CodeOf(err) != core.CodeSchema {
		t.Errorf("a newer program's: error %v, want schema", err)
	}
	if _, err := records.DecodeOutbox([]byte(`{"schema":1,"to":[{"run":"1"}]}`)); core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("a run that is no id: error %v, want corrupt", err)
	}
}

func FuzzDecodePrompt(f *testing.F) {
	f.Add([]byte(`{"schema":1,"system":"be brief","tools":[{"name":"sum","description":"adds","parameters":{"a":[1, 2]}}]}`))
	f.Add([]byte(`{"schema":1,"to":[{"kind":"run","thread":"t","run":"` + one + `"}],"payload":{"text":"hi"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var records thread.Records
		refused := func(err error) bool {
			if code := core.CodeOf(err); err != nil && code != core.CodeCorrupt && code != core.CodeSchema {
				t.Fatalf("code %s: %v", code, err)
			}
			return err != nil
		}
		if _, err := records.DecodePrompt("0190ab", b); !refused(err) {
			t.Fatalf("%s is taken for another prompt", b)
		}
		var prompt thread.PromptRecord
		if err := records.Decode("prompt", b, &prompt); !refused(err) {
			once, hash, err := records.EncodePrompt(&prompt)
			if err != nil {
				t.Fatalf("%s was decoded and cannot be encoded: %v", b, err)
			}
			again, err := records.DecodePrompt(hash, once)
			if err != nil {
				t.Fatalf("%s became %s: %v", b, once, err)
			}
			if twice, same, err := records.EncodePrompt(&again); err != nil || same != hash || !bytes.Equal(once, twice) {
				t.Fatalf("%s became %s: %v", once, twice, err)
			}
		}
		owed, err := records.DecodeOutbox(b)
		if refused(err) {
			return
		}
		once, err := records.EncodeOutbox(&owed)
		if err != nil {
			t.Fatalf("%s was decoded and cannot be encoded: %v", b, err)
		}
		again, err := records.DecodeOutbox(once)
		if err != nil {
			t.Fatalf("%s became %s: %v", b, once, err)
		}
		if twice, err := records.EncodeOutbox(&again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s became %s: %v", once, twice, err)
		}
	})
}
