package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

func typesOf(events []core.Event) string {
	all := []string{}
	for _, e := range events {
		all = append(all, string(e.Type))
	}
	return strings.Join(all, " ")
}

// The committed events of a run end with it, or where it waits; a closing run still owes
// its end. What comes on the thread after the run is not of it.
func TestHowTheCommittedEventsOfARunEnd(t *testing.T) {
	const turn = "run_start step_start text_delta inference_complete step_end"
	for name, test := range map[string]struct {
		status core.RunStatus
		head   thread.Run
		want   string
	}{
		"done":              {core.RunDone, thread.Run{}, turn + " run_finish"},
		"done, and another": {core.RunDone, thread.Run{ID: idOf('z', 0), Cursor: thread.CursorInfer}, turn + " run_finish"},
		"closing":           {core.RunDone, thread.Run{ID: idOf('b', 0), Cursor: thread.CursorInfer, Status: thread.Closing, Reason: thread.ReasonCancelled}, turn},
		"queued":            {core.RunCreated, thread.Run{}, turn},
		"running":           {core.RunRunning, thread.Run{ID: idOf('b', 0), Cursor: thread.CursorInfer}, turn},
		"waiting":           {core.RunWaiting, thread.Run{ID: idOf('b', 0), Cursor: thread.CursorInfer, Status: thread.Waiting}, turn + " run_finish"},
	} {
		m := newMade(t)
		m.says("a1")
		said := message("b2", core.RoleAssistant, 3)
		said.Step, said.CreatedAt = 1, 9
		m.log('b', thread.Entry{Step: 1, At: 8, Attempt: 1, Message: said})
		m.log('c', thread.Entry{Step: 1, At: 10, Attempt: 1, Message: message("c3", core.RoleAssistant, 3)})
		m.head.Run = test.head
		p := m.process(m.run('b', 2, func(r *thread.RunRecord) {
			r.Status = test.status
			r.Termination = &core.Termination{Type: core.TerminationNatural}
		}))
		page, err := p.Committed(t.Context(), local, idOf('b', 0), host.EventQuery{})
		if got := typesOf(page.Items); got != test.want || err != nil || page.Next != "" {
			t.Errorf("%s: %s, more %t, %v; want %s", name, got, page.Next != "", err, test.want)
		}
		all := page.Items
		end := all[len(all)-1].Position
		if rest, err := p.Committed(t.Context(), local, idOf('b', 0), host.EventQuery{After: end}); err != nil || rest.Next != "" || rest.Items == nil || len(rest.Items) > 0 {
			t.Errorf("%s: behind the last there is %+v, %v", name, rest, err)
		}
		for limit := 1; limit <= len(all)+1; limit++ { // in pages of any size each event comes once
			var got []core.Event
			for q := (host.EventQuery{Limit: limit}); ; {
				page, err := p.Committed(t.Context(), local, idOf('b', 0), q)
				if err != nil || len(page.Items) > limit {
					t.Fatal(name, len(page.Items), err)
				}
				if got = append(got, page.Items...); page.Next == "" {
					break
				}
				q.After = page.Items[len(page.Items)-1].Position
			}
			if diff := cmp.Diff(typesOf(all), typesOf(got)); diff != "" {
				t.Errorf("%s in pages of %d (-want +got):\n%s", name, limit, diff)
			}
		}
	}
	m := newMade(t)
	p := m.process(m.run('b', 0, func(r *thread.RunRecord) { r.Termination = &core.Termination{Type: core.TerminationCancelled} }))
	page, err := p.Committed(t.Context(), local, idOf('b', 0), host.EventQuery{})
	if got := typesOf(page.Items); got != "run_start run_finish" || err != nil {
		t.Errorf("a run that ended before its first step: %s, %v", got, err)
	}
}

// A result that the head marks done, and the log does not have, is the thread's error,
// whichever it is; records beside it do not stand for it.
func TestAResultThatIsMissing(t *testing.T) {
	done, running := thread.CallDone, thread.CallRunning
	for name, test := range map[string]struct {
		calls  []thread.CallStatus
		stored map[uint64]string // results by sequence; empty: a record without one, -: one without a message
		text   string            // of the error; empty: there is none
	}{
		"all are there":      {[]thread.CallStatus{done, running, done}, map[uint64]string{2: "b2", 4: "b4"}, ""},
		"none counts":        {[]thread.CallStatus{running, running}, map[uint64]string{2: "b2"}, ""},
		"the first":          {[]thread.CallStatus{done, running, done}, map[uint64]string{4: "b4"}, "log of local/t1 has no result at 2, but call 0 is done in the head"},
		"the last":           {[]thread.CallStatus{done, running, done}, map[uint64]string{2: "b2"}, "log of local/t1 has no result at 4, but call 2 is done in the head"},
		"the only one":       {[]thread.CallStatus{running, done}, nil, "log of local/t1 has no result at 3, but call 1 is done in the head"},
		"another record":     {[]thread.CallStatus{done, running}, map[uint64]string{2: ""}, "log of local/t1 has no result at 2, but call 0 is done in the head"},
		"no message":         {[]thread.CallStatus{done, running}, map[uint64]string{2: "-"}, "log of local/t1 has no result at 2, but call 0 is done in the head"},
		"a later round's":    {[]thread.CallStatus{running, done}, map[uint64]string{3: "b3", 4: "b4"}, ""},
		"one beside it only": {[]thread.CallStatus{done, running}, map[uint64]string{3: "b3"}, "log of local/t1 has no result at 2, but call 0 is done in the head"},
	} {
		m := newMade(t)
		m.log('b', thread.Entry{Step: 1, Message: message("b1", core.RoleAssistant, 1)})
		for seq, id := range test.stored {
			e := thread.Entry{Message: message("b0", core.RoleUser, 1)}
			if id == "-" {
				e.Message = nil
			} else if id != "" {
				e.Message = message(id, core.RoleTool, 1)
				e.Message.ToolResult = &core.ToolResult{CallID: id, Status: core.ResultOK}
			}
			m.at(seq, 'b', e)
		}
		m.head.Run = thread.Run{ID: idOf('b', 0), Cursor: thread.CursorTools, Step: 1, Base: 2, Calls: test.calls}
		page, err := m.process().Messages(t.Context(), local, "t1", host.MessageQuery{})
		if test.text == "" {
			want := []string{"b1"}
			for i, status := range test.calls {
				if status == done {
					want = append(want, test.stored[uint64(2+i)])
				}
			}
			if diff := cmp.Diff(want, ids(page)); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
			continue
		}
		if !errors.Is(err, store.ErrCorrupt) || !strings.HasPrefix(err.Error(), test.text+": ") || page.Messages != nil {
			t.Errorf("%s: %v, messages %v; want %s", name, err, ids(page), test.text)
		}
	}
}

// A closing run's input is that of the run which its end opens: the first entry's. Without
// any there is none.
func TestTheInputOfAClosingRun(t *testing.T) {
	for n := range 3 {
		m := newMade(t)
		m.says("a1")
		m.head.Run = thread.Run{ID: idOf('b', 0), Dispatch: idOf('b', 1), Cursor: thread.CursorInfer, Status: thread.Closing, Reason: thread.ReasonOwn}
		var want []string
		for i := range n {
			name := byte('g' + i)
			m.head.Inbox = append(m.head.Inbox, thread.InboxEntry{ID: m.input(name, byte(i), 'b', message(string(name)+"1", core.RoleUser, 1))})
			want = append(want, string(name)+"1 of "+m.head.Inbox[0].ID.String())
		}
		page, err := m.process().Messages(t.Context(), local, "t1", host.MessageQuery{After: 1})
		var got []string
		for _, m := range page.Messages {
			got = append(got, m.ID+" of "+m.RunID.String())
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%d entries: %v (-want +got):\n%s", n, err, diff)
		}
	}
}

// A record past the query's run ends the page: what follows on the thread is not read.
func TestAPageOfARunReadsNoOther(t *testing.T) {
	m, _ := everything(t)
	backend := &lazy{Backend: m.store}
	p := newRig(t).process("r", backend)
	for _, test := range []struct {
		q       host.MessageQuery
		want    []string
		records int
	}{
		{host.MessageQuery{Run: idOf('a', 0)}, []string{"a1", "a2"}, 4}, // one that supersedes, and that which ends it
		{host.MessageQuery{Run: idOf('e', 0)}, []string{"e7"}, 4},
	} {
		backend.records = 0
		page, err := p.Messages(t.Context(), local, "t1", test.q)
		if diff := cmp.Diff(test.want, ids(page)); diff != "" || err != nil || backend.records != test.records {
			t.Errorf("%v, %d records, want %d (-want +got):\n%s", err, backend.records, test.records, diff)
		}
	}
}

// An index that shows others' threads is not believed: their heads decide.
func TestWhatAnIndexListsIsNotShownToAnybody(t *testing.T) {
	r := newRig(t)
	faulty := &storetest.Faulty{Backend: r.store}
	p := r.process("w", faulty)
	say(t, p, "acme", "hers", "ann", "hello")
	say(t, p, "acme", "gone", "ann", "hello")
	ann, bob := core.Identity{Tenant: "acme", User: "ann"}, core.Identity{Tenant: "acme", User: "bob"}
	if err := p.DeleteThread(t.Context(), ann, "gone", ""); err != nil {
		t.Fatal(err)
	}
	faulty.OnListed = func(ctx context.Context, tenant, list string, before *store.Place, limit int) ([]store.Listed, error) {
		kind, _, _ := strings.Cut(list, ":")
		found, err := r.store.Listed(ctx, tenant, kind+":ann", before, limit)
		for _, l := range found {
			absent, deleted := l, l
			absent.Thread, deleted.Thread = "absent", "gone"
			found = append(found, absent, deleted)
		}
		return found, err
	}
	for id, want := range map[core.Identity]int{ann: 1, bob: 0} {
		runs, err := p.Runs(t.Context(), id, host.RunQuery{})
		if err != nil || len(runs.Items) != want {
			t.Errorf("%s is listed %d runs, %v", id.User, len(runs.Items), err)
		}
		threads, err := p.Threads(t.Context(), id, host.ThreadQuery{})
		if err != nil || len(threads.Items) != want {
			t.Errorf("%s is listed %d threads, %v", id.User, len(threads.Items), err)
		}
	}
}

// A call that follows a run which is not due yet is told at once when it is cancelled.
func TestACallThatFollowsIsToldOfACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSolo(t, soloParts())
		later := submission("t1", "later")
		later.Opening.Delay = time.Hour
		receipt, err := r.Submit(t.Context(), later)
		if err != nil {
			t.Fatal(err)
		}
		began, done := time.Now(), make(chan error, 1)
		go func() {
			done <- r.Follow(t.Context(), local, receipt.RunID, host.ListenerFunc(func(core.Event) error { return nil }))
		}()
		time.Sleep(time.Second)
		if err := r.CancelRun(t.Context(), local, receipt.RunID); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil || time.Since(began) != time.Second {
			t.Errorf("it ends after %s, %v", time.Since(began), err)
		}
	})
}

// greeted is what a client is shown of the thread before its run.
func greeted(t *testing.T, p *host.Host, run core.ID) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	client := &choosing{wants: map[core.EventType]bool{core.EventMessagesSnapshot: true}}
	if err := p.Follow(ctx, local, run, client); err != nil {
		t.Fatal(err)
	}
	for _, e := range client.events {
		if e.Type == core.EventMessagesSnapshot {
			return ids(host.MessagePage{Messages: e.Messages})
		}
	}
	return nil
}

// A client is greeted with the newest messages before its run, and none that waits.
func TestAClientIsGreetedWithTheNewestMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMade(t)
		var want []string
		for i := range 300 {
			id := "a" + string(rune('A'+i/26)) + string(rune('a'+i%26))
			m.says(id)
			want = append(want, id)
		}
		m.says("f1", "f2")
		m.head.Run = thread.Run{ID: idOf('f', 0), Cursor: thread.CursorTools, Step: 1, Base: 303, Calls: []thread.CallStatus{thread.CallRunning}}
		m.head.Pending = []thread.Dispatch{{ID: m.input('q', 3, 'h', message("h1", core.RoleUser, 40)), Run: idOf('h', 0)}}
		p := m.process(m.run('f', 301, func(r *thread.RunRecord) { r.Status = core.RunRunning }))
		if diff := cmp.Diff(want, greeted(t, p, idOf('f', 0))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
