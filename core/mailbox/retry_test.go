package mailbox_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// died is a world whose thread has a run that ended as said, with its own input in
// the log, and what it had said behind it.
func died(t *testing.T, end core.Termination, change ...func(*thread.RunRecord)) (*world, core.ID) {
	t.Helper()
	w := newWorld(t)
	s := input("one", "")
	s.Messages = append(s.Messages, core.UserMessage("and two").WithID("m2"))
	r := w.submit(t, s)
	head := w.claim(t)
	w.commit(t, thread.Cancel{Run: r.RunID}) // the end itself is the record's affair
	entries := []thread.Entry{
		{Run: r.RunID, Superseded: &thread.Range{From: 1, To: 0}},
		{Run: r.RunID, Message: &core.Message{ID: "m1", RunID: r.RunID, Role: core.RoleUser, Content: s.Messages[0].Content}, Input: r.DispatchID},
		{Run: r.RunID, Message: &core.Message{ID: "m2", RunID: r.RunID, Role: core.RoleUser, Content: s.Messages[1].Content}, Input: r.DispatchID},
		{Run: r.RunID, Message: &core.Message{Role: core.RoleAssistant}},
		{Run: r.RunID, Message: &core.Message{Role: core.RoleUser, Content: s.Messages[1].Content}, Input: core.ID{9}}, // steered
	}
	record := thread.RunRecord{Run: core.Run{ID: r.RunID, Dispatch: r.DispatchID, AgentID: "other", Status: core.RunDone, Termination: &end, FirstSeq: 1}, Request: json.RawMessage(`{"plan":"gold"}`)}
	for _, c := range change {
		c(&record)
	}
	_, _, err := w.Commit(t.Context(), key, thread.Head{}, thread.CommitClose{Fence: head.Claim.Fence, From: head.Seq, Seq: uint64(len(entries))},
		func(next thread.Head, _ thread.Result) (records []store.Record, err error) {
			for i, e := range entries {
				records = append(records, store.Record{Name: store.LogName(uint64(i + 1)), Fence: head.Claim.Fence, Payload: encoded(t, e)})
			}
			payload, err := thread.Records{}.EncodeRun(&record)
			return append(records, store.Record{Name: recordname.Run(r.RunID), Fence: head.Claim.Fence, Version: next.Version, Payload: payload}), err
		})
	if err != nil {
		t.Fatal(err)
	}
	return w, r.RunID
}

func TestADeadLetterIsRetriedOnce(t *testing.T) {
	w, run := died(t, *thread.ReasonDeadLetter.Termination())
	first, err := w.Retry(t.Context(), key, "ann", run)
	if err != nil || first.RunID == run || first.Duplicate {
		t.Fatalf("retry: %+v, %v", first, err)
	}
	stored, ok, err := w.store.Get(t.Context(), key, recordname.Input(first.DispatchID, 0))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	in, err := thread.Records{}.DecodeQueued(stored.Payload)
	if err != nil || in.AgentID != "other" || string(in.Request) != `{"plan":"gold"}` {
		t.Errorf("the input is for %q with %s, %v", in.AgentID, in.Request, err)
	}
	var said []string
	for _, m := range in.Messages {
		said = append(said, m.ID+": "+m.Text())
	}
	id := first.DispatchID.String()
	if diff := cmp.Diff([]string{id + ".0: one", id + ".1: and two"}, said); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	again, err := w.Retry(t.Context(), key, "ann", run)
	if err != nil || !again.Duplicate || again.RunID != first.RunID || len(w.head(t).Pending) != 1 {
		t.Errorf("again: %+v, %v, queue %v", again, err, w.head(t).Pending)
	}
}

func TestOnlyADeadLetterIsRetried(t *testing.T) {
	dead := *thread.ReasonDeadLetter.Termination()
	refused := func(w *world, user string, run core.ID, code core.Code, want string) {
		t.Helper()
		_, err := w.Retry(t.Context(), key, user, run)
		if core.CodeOf(err) != code || want != "" && err.Error() != want {
			t.Errorf("retry: %v, want code %s: %s", err, code, want)
		}
		if n := len(w.head(t).Pending); n > 1 {
			t.Errorf("%d runs are queued", n)
		}
	}
	w, run := died(t, core.Termination{Type: core.TerminationError, Code: "model"})
	refused(w, "ann", run, core.CodeConflict, "run "+run.String()+" did not end as a dead letter, only such a run can be retried")
	refused(w, "bob", run, core.CodeForbidden, "")
	refused(w, "ann", core.ID{1}, core.CodeNotFound, "")

	w = newWorld(t)
	r := w.submit(t, input("one", ""))
	refused(w, "ann", r.RunID, core.CodeConflict, "run "+r.RunID.String()+" is not over (created), only a dead-lettered run can be retried")

	w, run = died(t, dead, func(r *thread.RunRecord) { r.FirstSeq = 0 })
	refused(w, "ann", run, core.CodeConflict, "the input of run "+run.String()+" is lost")
	w, run = died(t, dead)
	w.failing(recordname.Run(run), store.ErrThrottled)
	if _, err := w.Retry(t.Context(), key, "ann", run); !errors.Is(err, store.ErrThrottled) {
		t.Errorf("retry over a store that throttles: %v", err)
	}
}

// What is said again is no reply to a run that waits for a person since: its tickets
// stay, and the retry is a run of its own.
func TestARetryQueuesBehindARunThatWaits(t *testing.T) {
	w, run := died(t, *thread.ReasonDeadLetter.Termination())
	other := w.submit(t, input("three", ""))
	w.waits(t, w.claim(t), asks(0))
	retried, err := w.Retry(t.Context(), key, "ann", run)
	if err != nil {
		t.Fatal(err)
	}
	head := w.head(t)
	if retried.RunID == other.RunID || head.Run.Status != thread.Waiting || len(head.Tickets) != 1 || len(head.Pending) != 1 || head.Pending[0].Run != retried.RunID {
		t.Errorf("retried as %s beside %s: head %+v; want it queued behind a run that waits", retried.RunID, other.RunID, head)
	}
}

// What a trigger had begun stays the deployment's own.
func TestWhatGoesOnWithARunKeepsItsOrigin(t *testing.T) {
	internal := func(r *thread.RunRecord) { r.Origin = core.OriginInternal }
	for _, again := range []string{"retry", "take up"} {
		w, run := died(t, *thread.ReasonDeadLetter.Termination(), internal)
		goOn := w.Retry
		if again == "take up" {
			goOn = w.TakeUp
		}
		receipt, err := goOn(t.Context(), key, "ann", run)
		if err != nil {
			t.Fatal(err)
		}
		queued, _, err := w.Run(t.Context(), key, w.head(t), receipt.RunID, receipt.DispatchID)
		if err != nil || queued.Origin != core.OriginInternal {
			t.Errorf("%s: the run is of origin %q, %v", again, queued.Origin, err)
		}
	}
}
