package run_test

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// The head has the checksum of the log's records since the newest turn, and each turn that of
// those since the turn before it, whichever write made them visible: steps with results that
// were put early, the end of a run, one that supersedes, and a fork.
func TestTheLogHasItsChecksums(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies(calls("echo", `{"text":"a"}`, "echo", `{"text":"b"}`), text("ok"), text("so"), text("again"))})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		w.submit(t, key, "on", mailbox.ModeQueue)
		w.finish(t, key, nil)
		wantSums(t, w, key, 2)
		again := mailbox.Submission{Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: 6}, Messages: []core.Message{core.UserMessage("once more")}}
		if _, err := w.box.Submit(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		wantSums(t, w, key, 3)
		to := core.ThreadKey{Tenant: key.Tenant, Thread: "fork"}
		if _, err := w.box.Fork(t.Context(), mailbox.Forking{Thread: key, To: to.Thread, At: w.entries(t, 6)[0].Message.ID}); err != nil && !strings.Contains(err.Error(), "withdrawn") {
			t.Fatal(err)
		}
		if _, err := w.box.Fork(t.Context(), mailbox.Forking{Thread: key, To: to.Thread, At: w.entries(t, 5)[0].Message.ID}); err != nil {
			t.Fatal(err)
		}
		wantSums(t, w, to, 1)
	})
}

// wantSums checks the checksums of a thread's log, with so many turns that have one or more
// records before them.
func wantSums(t *testing.T, w *world, key core.ThreadKey, turns int) {
	t.Helper()
	table := crc32.MakeTable(crc32.Castagnoli)
	var segment []byte
	for seq := uint64(1); seq <= w.head(t, key).Seq; seq++ {
		record, ok, err := w.store.Get(t.Context(), key, store.LogName(seq))
		if err != nil || !ok {
			t.Fatalf("record %d of %s: %v", seq, key, err)
		}
		e, err := thread.Records{}.DecodeEntry(record.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if e.Message != nil && e.Message.Role == core.RoleAssistant {
			if want := crc32.Checksum(segment, table); e.Sum != want {
				t.Errorf("the turn at %d has the checksum %08x, want %08x", seq, e.Sum, want)
			}
			segment, turns = nil, turns-1
		}
		segment = binary.BigEndian.AppendUint32(segment, crc32.Checksum(record.Payload, table))
	}
	if got, want := w.head(t, key).TailSum, crc32.Checksum(segment, table); got != want || turns > 0 {
		t.Errorf("the head of %s has the checksum %08x, want %08x; %d turns are missing", key, got, want, turns)
	}
}
