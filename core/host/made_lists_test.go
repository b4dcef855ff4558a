package host_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// listing stores the listing of a run of the thread, or with 0 of the thread.
func (m *made) listing(run byte, l thread.Listing) {
	m.t.Helper()
	name := recordname.Activity
	if run != 0 {
		name = recordname.Listing(idOf(run, 0))
	}
	payload, err := thread.Records{}.EncodeListing(&l)
	m.put(name, payload, err)
}

// A page of a thread's runs ends at its limit, or at 3,000,000 bytes: of each run its
// response and a KiB. Its Next is the place of its last run.
func TestThePagesOfAThreadsRuns(t *testing.T) {
	const around = 1 << 10
	for name, test := range map[string]struct {
		responses []int // of runs i, h, ...: names are listed backwards
		limit     int
		want      [][]string
	}{
		"all fit":       {[]int{1_000_000, 2_000_000 - 2*around}, 0, [][]string{{"i", "h"}}},
		"one byte more": {[]int{1_000_000, 2_000_000 - 2*around + 1}, 0, [][]string{{"i"}, {"h"}}},
		"one too large": {[]int{3_000_001, 1, 1}, 0, [][]string{{"i"}, {"h", "g"}}},
		"the third":     {[]int{1_400_000, 1_400_000, 1_000_000}, 0, [][]string{{"i", "h"}, {"g"}}},
		"limit":         {[]int{1, 1, 1}, 2, [][]string{{"i", "h"}, {"g"}}},
		"just as many":  {[]int{1, 1}, 2, [][]string{{"i", "h"}}},
	} {
		m := newMade(t)
		m.listing(0, thread.Listing{List: recordname.ThreadsList(""), At: 1})
		names := map[core.ID]string{}
		for i, size := range test.responses {
			run := byte('i' - i)
			names[idOf(run, 0)] = string(run)
			m.listing(run, thread.Listing{List: recordname.RunsList(""), At: 9, AgentID: "demo"})
			m.run(run, 0, func(r *thread.RunRecord) { r.Response = strings.Repeat("x", size) })
		}
		p := m.process()
		q, got := host.RunQuery{Thread: "t1", Limit: test.limit}, [][]string(nil)
		for {
			page, err := p.Runs(t.Context(), local, q)
			if err != nil {
				t.Fatal(err)
			}
			var one []string
			for _, r := range page.Items {
				one = append(one, names[r.ID])
			}
			got = append(got, one)
			if q.After = page.Next; q.After == "" {
				break
			}
			last := page.Items[len(page.Items)-1].ID
			if diff := cmp.Diff("0#t1#"+recordname.Listing(last), page.Next); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A page of a thread's runs looks at 1,000 listings.
func TestAPageOfAThreadsRunsLooksAtSoMany(t *testing.T) {
	for n, more := range map[int]bool{999: false, 1001: true} {
		m := newMade(t)
		for i := range n {
			payload, err := thread.Records{}.EncodeListing(&thread.Listing{List: recordname.RunsList(""), At: 9})
			m.put(recordname.Listing(core.ID{0: 1, 14: byte(i >> 8), 15: byte(i)}), payload, err)
		}
		page, err := m.process().Runs(t.Context(), local, host.RunQuery{Thread: "t1"})
		if err != nil || len(page.Items) != 0 || (page.Next != "") != more {
			t.Fatalf("of %d: %+v, %v", n, page, err)
		}
		if want := recordname.Listing(core.ID{0: 1, 15: 1}); more && page.Next != "0#t1#"+want {
			t.Errorf("of %d: it goes on before %q, want %s", n, page.Next, want)
		}
	}
}

// A page of threads ends at 3,000,000 bytes: of each its title, its metadata and two KiB.
func TestThreadsArePagedByBytes(t *testing.T) {
	const around = 2 << 10
	for name, test := range map[string]struct {
		title, metadata int
		want            []int
	}{
		"all fit":       {1_000_000, 2_000_000 - 2*around, []int{2}},
		"one byte more": {1_000_000, 2_000_000 - 2*around + 1, []int{1, 1}},
	} {
		m := newMade(t)
		for i, about := range []thread.About{{Title: strings.Repeat("x", test.title)}, {Metadata: []byte(`{"k":"` + strings.Repeat("x", test.metadata-len(`{"k":""}`)) + `"}`)}} {
			m.key.Thread = fmt.Sprint("t", i)
			m.listing(0, thread.Listing{List: recordname.ThreadsList(""), At: int64(i)})
			payload, err := thread.Records{}.EncodeAbout(&about)
			m.put(recordname.About, payload, err)
			if outcome, err := m.store.Commit(t.Context(), m.key, store.Commit{Head: m.head}); err != nil || !outcome.Written {
				t.Fatal(err)
			}
		}
		m.key.Thread = "t2"
		p := m.process()
		q, got := host.ThreadQuery{}, []int(nil)
		for {
			page, err := p.Threads(t.Context(), local, q)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, len(page.Items))
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Threads are found by a part of their title, of what was asked, or of their id, in any case,
// and by the agent of their last run.
func TestThreadsAreFoundByTextAndAgent(t *testing.T) {
	p := two(t)
	for i, s := range []struct{ id, title, text, agent string }{
		{"one", "Blue sky", "hello", "demo"}, {"two", "", "the BLUE sea", "other"}, {"threeblue", "Red", "hi", "demo"}, {"four", "Green", "grass", "other"},
	} {
		if _, err := p.CreateThread(t.Context(), local, host.NewThread{ID: s.id, Title: s.title}); err != nil {
			t.Fatal(i, err)
		}
		in := submission(s.id, s.text)
		in.Opening.AgentID = s.agent
		if _, err := p.Stream(t.Context(), in, host.ListenerFunc(func(core.Event) error { return nil })); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		q    host.ThreadQuery
		want map[string]bool
	}{
		{host.ThreadQuery{Text: "bLue"}, map[string]bool{"one": true, "two": true, "threeblue": true}},
		{host.ThreadQuery{Text: "sky"}, map[string]bool{"one": true}},
		{host.ThreadQuery{Text: "sea"}, map[string]bool{"two": true}},
		{host.ThreadQuery{Text: "three"}, map[string]bool{"threeblue": true}},
		{host.ThreadQuery{Text: "yellow"}, map[string]bool{}},
		{host.ThreadQuery{Agent: "other"}, map[string]bool{"two": true, "four": true}},
		{host.ThreadQuery{Agent: "other", Text: "blue"}, map[string]bool{"two": true}},
		{host.ThreadQuery{Agent: "nobody"}, map[string]bool{}},
		{host.ThreadQuery{}, map[string]bool{"one": true, "two": true, "threeblue": true, "four": true}},
	} {
		page, err := p.Threads(t.Context(), local, test.q)
		got := map[string]bool{}
		for _, info := range page.Items {
			got[info.ID] = true
		}
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil || page.Next != "" {
			t.Errorf("%+v: %v (-want +got):\n%s", test.q, err, diff)
		}
	}
	longest := strings.Repeat("x", 200)
	if _, err := p.Threads(t.Context(), local, host.ThreadQuery{Text: longest}); err != nil {
		t.Errorf("the longest text to search for: %v", err)
	}
}

// The open run is active as long as it is not closing, whatever else the thread has.
func TestTheActiveRunOfAThread(t *testing.T) {
	f := idOf('f', 0)
	for name, test := range map[string]struct {
		run    thread.Run
		status core.RunStatus // empty: none is active
	}{
		"none is open": {},
		"running":      {thread.Run{ID: f, Cursor: thread.CursorInfer}, core.RunRunning},
		"waiting":      {thread.Run{ID: f, Cursor: thread.CursorTools, Status: thread.Waiting}, core.RunWaiting},
		"closing":      {thread.Run{ID: f, Cursor: thread.CursorInfer, Status: thread.Closing, Reason: thread.ReasonCancelled}, ""},
	} {
		m := newMade(t)
		m.head.Run = test.run
		m.head.Pending = []thread.Dispatch{{ID: idOf('q', 3), Run: idOf('h', 0)}, {ID: idOf('r', 3), Run: idOf('i', 0)}}
		m.head.Delayed = []thread.Dispatch{{ID: idOf('s', 3), Run: idOf('j', 0), AvailableAt: 5}}
		m.head.Seq = 7
		m.head.Owner = "ann"
		payload, err := thread.Records{}.EncodeAbout(&thread.About{Title: "T", Metadata: []byte(`{"a":1}`)})
		m.put(recordname.About, payload, err)
		last := core.LastRun{ID: f, AgentID: "demo", Status: core.RunDone, Steps: 2}
		m.listing(0, thread.Listing{List: recordname.ThreadsList("ann"), At: 77, AgentID: "demo", Parent: "p", Last: &last, Excerpt: "e", Asked: "a"})
		p := m.process(m.run('f', 0, nil))
		ann := core.Identity{Tenant: "local", User: "ann"}
		want := host.Thread{
			ID: "t1", Owner: "ann", Queued: 2, Delayed: 1, Messages: 7, Created: m.head.Created(), Title: "T", Metadata: []byte(`{"a":1}`),
			Activity: 77, AgentID: "demo", Parent: "p", Last: &last, Excerpt: "e", Asked: "a", Status: test.status,
		}
		if test.status != "" {
			want.ActiveRun = f
		}
		got, err := p.Thread(t.Context(), ann, "t1")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		run, ok, err := p.ActiveRun(t.Context(), ann, "t1")
		if ok != (test.status != "") || err != nil || ok && (run.ID != f || run.Status != test.status || run.AgentID != "demo") {
			t.Errorf("%s: %+v is active, %t, %v", name, run, ok, err)
		}
	}
}

// A thread without a listing, as before its first commit, is described all the same.
func TestAThreadWithoutAListing(t *testing.T) {
	m := newMade(t)
	got, err := m.process().Thread(t.Context(), local, "t1")
	if diff := cmp.Diff(host.Thread{ID: "t1", Created: m.head.Created()}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Every status and every end of a run can be asked for.
func TestWhatRunsMayBeAskedFor(t *testing.T) {
	p := newMade(t).process()
	for _, status := range []core.RunStatus{"", core.RunCreated, core.RunRunning, core.RunWaiting, core.RunDone} {
		if _, err := p.Runs(t.Context(), local, host.RunQuery{Status: status}); err != nil {
			t.Errorf("status %q: %v", status, err)
		}
	}
	for _, end := range []core.TerminationType{
		"", core.TerminationNatural, core.TerminationBehavior, core.TerminationStopped, core.TerminationCancelled, core.TerminationBlocked,
		core.TerminationSuperseded, core.TerminationError,
	} {
		if _, err := p.Runs(t.Context(), local, host.RunQuery{Termination: end}); err != nil {
			t.Errorf("termination %q: %v", end, err)
		}
	}
	for _, end := range []core.TerminationType{core.TerminationSuspended, "x"} {
		_, err := p.Runs(t.Context(), local, host.RunQuery{Termination: end})
		want := fmt.Sprintf("termination %q is unknown, allowed are natural_end, behavior_requested, stopped, cancelled, blocked, superseded, error", end)
		if core.CodeOf(err) != core.CodeInvalid || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for limit, code := range map[int]core.Code{-1: core.CodeInvalid, 1: "", 200: "", 201: core.CodeInvalid} {
		if _, err := p.Runs(t.Context(), local, host.RunQuery{Limit: limit}); core.CodeOf(err) != code {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

// A run that was cancelled in the queue has no record: its dispatch tells of its end.
func TestARunThatEndedInTheQueueIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		failing := newFailingRead(r)
		p := r.process("w", failing)
		first := say(t, p, "local", "t1", "", "hello")
		time.Sleep(time.Second)
		later := submission("t1", "later")
		later.Opening.Delay = time.Hour
		queued, err := p.Submit(t.Context(), later)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CancelRun(t.Context(), local, queued.RunID); err != nil {
			t.Fatal(err)
		}
		for name, list := range map[string]func() (host.Page[core.Run], error){
			"runs":             func() (host.Page[core.Run], error) { return p.Runs(t.Context(), local, host.RunQuery{}) },
			"runs of a thread": func() (host.Page[core.Run], error) { return p.Runs(t.Context(), local, host.RunQuery{Thread: "t1"}) },
		} {
			failing.at, failing.count = 0, 0
			page, err := list()
			if err != nil || len(page.Items) != 2 || page.Items[0].ID != queued.RunID || page.Items[1].ID != first.RunID {
				t.Fatalf("%s: %+v, %v", name, page.Items, err)
			}
			got := page.Items[0]
			if got.Status != core.RunDone || got.Termination == nil || got.Termination.Type != core.TerminationCancelled || got.AgentID != "demo" {
				t.Errorf("%s: the cancelled run is %+v", name, got)
			}
			for reads := failing.count; reads > 0; reads-- {
				failing.at, failing.count = reads, 0
				if page, err := list(); err == nil || len(page.Items) != 0 {
					t.Errorf("%s: read %d fails: %+v, %v", name, reads, page, err)
				}
			}
		}
	})
}

// Lists that have nothing are empty, and not null.
func TestEmptyPagesAreEmptyLists(t *testing.T) {
	m := newMade(t)
	p := m.process(m.run('e', 0, nil))
	messages, err := p.Messages(t.Context(), local, "t1", host.MessageQuery{})
	if messages.Messages == nil || err != nil {
		t.Errorf("messages %v, %v", messages.Messages, err)
	}
	asked, err := p.Approvals(t.Context(), local, host.ApprovalQuery{})
	if asked.Items == nil || err != nil {
		t.Errorf("approvals %v, %v", asked.Items, err)
	}
	steps, err := p.Steps(t.Context(), local, idOf('e', 0), host.StepQuery{})
	if steps.Steps == nil || err != nil {
		t.Errorf("steps %v, %v", steps.Steps, err)
	}
	m = newMade(t)
	m.head.Run = thread.Run{ID: idOf('e', 0), Cursor: thread.CursorInfer, Status: thread.Closing, Reason: thread.ReasonCancelled}
	events, err := m.process(m.run('e', 0, nil)).Committed(t.Context(), local, idOf('e', 0), host.EventQuery{Limit: 1})
	if events.Items == nil || err != nil {
		t.Errorf("events %v, %v", events.Items, err)
	}
}

// A thread that a newer program has written is left out of the approvals, as a damaged one.
func TestAThreadOfANewerProgramIsLeftOutOfApprovals(t *testing.T) {
	for _, payload := range []string{"{", `{"schema":99}`} {
		var log bytes.Buffer
		watched, damaged := newWatched(t), false
		f := &storetest.Faulty{Backend: watched, OnRecord: func(op storetest.Operation, found store.Record) store.Record {
			if damaged && op.Key.Thread == "b" && strings.HasPrefix(found.Name, "C#") {
				found.Payload = []byte(payload)
			}
			return found
		}}
		p := confirming(t, f, func(c *host.Options) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		for _, name := range []string{"a", "b", "c"} {
			ask(t, p, "acme", name, "", fmt.Sprintf(confirmed, "x"))
		}
		damaged = true
		if diff := cmp.Diff([]string{"a: x", "c: x"}, messages(approvals(t, p, "acme", "", host.ApprovalQuery{}))); diff != "" {
			t.Errorf("beside %s (-want +got):\n%s", payload, diff)
		}
		if !strings.Contains(log.String(), "thread=b") {
			t.Errorf("the log says nothing of %s:\n%s", payload, log.String())
		}
	}
}

// A page of approvals is full at its bytes: 256 for each ticket, its JSON and the names beside it.
func TestApprovalsFillTheirPage(t *testing.T) {
	p := confirming(t, nil)
	for _, name := range []string{"a", "b"} {
		ask(t, p, "acme", name, "", fmt.Sprintf(confirmed, "x"))
	}
	both := approvals(t, p, "acme", "", host.ApprovalQuery{})
	if len(both.Items) != 2 || both.Next != "" {
		t.Fatalf("%+v", both)
	}
	size := 0
	for _, a := range both.Items {
		text, err := core.EncodeJSON(a.Ticket)
		if err != nil {
			t.Fatal(err)
		}
		size += 256 + len(text) + len(a.ThreadTitle) + len(a.Asked)
	}
	for bytes, want := range map[int]int{size: 2, size - 1: 1, 1: 1} {
		page := approvals(t, p, "acme", "", host.ApprovalQuery{Bytes: bytes})
		if len(page.Items) != want || (page.Next == "") != (want == 2) {
			t.Errorf("%d bytes: %d approvals, next %+v", bytes, len(page.Items), page.Next)
		}
		if want == 1 && !strings.HasSuffix(page.Next, ":a") {
			t.Errorf("%d bytes: next %+v", bytes, page.Next)
		}
	}
}
