package host_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// manyRuns are runs of three agents on two threads, a second apart, named by their order:
// two that have ended, one that has failed, one that waits and one that is not due.
func manyRuns(t *testing.T) (*host.Host, map[core.ID]string) {
	t.Helper()
	p := confirming(t, nil)
	names := map[core.ID]string{}
	for i, run := range []struct{ thread, text string }{
		{"a", "hello"}, {"b", "fail"}, {"a", "hi"}, {"b", fmt.Sprintf("call: "+confirmed, "one")},
	} {
		names[say(t, p, "local", run.thread, "", run.text).RunID] = fmt.Sprintf("%s%d", run.thread, i+1)
		time.Sleep(time.Second)
	}
	later := submission("a", "later")
	later.Opening.Delay = time.Hour
	receipt, err := p.Submit(t.Context(), later)
	if err != nil {
		t.Fatal(err)
	}
	names[receipt.RunID] = "a5"
	if _, err := p.UpdateThread(t.Context(), local, "b", host.ThreadChange{Title: new("A trip to Rome")}); err != nil {
		t.Fatal(err)
	}
	return p, names
}

// named are the names of all runs that a query finds, in pages of its limit.
func named(t *testing.T, names map[core.ID]string, q host.RunQuery, list func(host.RunQuery) (host.Page[core.Run], error)) (all []string) {
	t.Helper()
	for {
		page, err := list(q)
		if err != nil {
			t.Fatal(err)
		}
		if q.Limit > 0 && len(page.Items) > q.Limit {
			t.Errorf("a page of %d has %d runs", q.Limit, len(page.Items))
		}
		for _, run := range page.Items {
			all = append(all, names[run.ID])
		}
		if page.Next == "" {
			return all
		}
		q.After = page.Next
	}
}

func TestRunsAreListedByWhatIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, names := manyRuns(t)
		for _, test := range []struct {
			name     string
			q        host.RunQuery
			all, ofA []string
		}{
			{"all", host.RunQuery{}, []string{"a5", "b4", "a3", "b2", "a1"}, []string{"a5", "a3", "a1"}},
			{"one at a time", host.RunQuery{Limit: 1}, []string{"a5", "b4", "a3", "b2", "a1"}, []string{"a5", "a3", "a1"}},
			{"done", host.RunQuery{Status: core.RunDone}, []string{"a3", "b2", "a1"}, []string{"a3", "a1"}},
			{"waiting", host.RunQuery{Status: core.RunWaiting}, []string{"b4"}, nil},
			{"created", host.RunQuery{Status: core.RunCreated, Limit: 1}, []string{"a5"}, []string{"a5"}},
			{"failed", host.RunQuery{Termination: core.TerminationError}, []string{"b2"}, nil},
			{"ended by themselves", host.RunQuery{Termination: core.TerminationNatural}, []string{"a3", "a1"}, []string{"a3", "a1"}},
			{"of the agent", host.RunQuery{Agent: "demo"}, []string{"a5", "b4", "a3", "b2", "a1"}, []string{"a5", "a3", "a1"}},
			{"of another agent", host.RunQuery{Agent: "nobody"}, nil, nil},
			{"by the input", host.RunQuery{Text: "HELLO"}, []string{"a1"}, []string{"a1"}},
			{"by the title", host.RunQuery{Text: "rome"}, []string{"b4", "b2"}, nil},
			{"by the title, one at a time", host.RunQuery{Text: "rome", Limit: 1}, []string{"b4", "b2"}, nil},
			{"by nothing that is there", host.RunQuery{Text: "oslo"}, nil, nil},
			{"since", host.RunQuery{Since: 946684802000}, []string{"a5", "b4", "a3"}, []string{"a5", "a3"}},
			{"until", host.RunQuery{Until: 946684802000}, []string{"b2", "a1"}, []string{"a1"}},
			{"until, one at a time", host.RunQuery{Until: 946684803000, Limit: 1}, []string{"a3", "b2", "a1"}, []string{"a3", "a1"}},
			{"between", host.RunQuery{Since: 946684801000, Until: 946684803000}, []string{"a3", "b2"}, []string{"a3"}},
			{"of users", host.RunQuery{Origin: new(core.OriginUser)}, []string{"a5", "b4", "a3", "b2", "a1"}, []string{"a5", "a3", "a1"}},
			{"of the deployment", host.RunQuery{Origin: new(core.OriginInternal)}, nil, nil},
			{"long ones", host.RunQuery{MinMillis: 1000}, []string{"b4"}, nil},
			{"longer ones", host.RunQuery{MinMillis: 1001}, nil, nil},
			{"dear ones", host.RunQuery{MinCost: 1}, nil, nil},
			{"children", host.RunQuery{Parent: core.ID{1}}, nil, nil},
		} {
			got := named(t, names, test.q, func(q host.RunQuery) (host.Page[core.Run], error) { return p.Runs(t.Context(), local, q) })
			if diff := cmp.Diff(test.all, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
			got = named(t, names, test.q, func(q host.RunQuery) (host.Page[core.Run], error) {
				q.Thread = "a"
				return p.Runs(t.Context(), local, q)
			})
			if diff := cmp.Diff(test.ofA, got); diff != "" {
				t.Errorf("%s of a thread (-want +got):\n%s", test.name, diff)
			}
		}
	})
}

func TestRunsOfOthersAreNotListed(t *testing.T) {
	p := confirming(t, nil)
	say(t, p, "acme", "hers", "ann", "hello")
	ours := say(t, p, "acme", "ours", "", "hello")
	for user, want := range map[string]int{"ann": 2, "bob": 1, "": 1} {
		page, err := p.Runs(t.Context(), core.Identity{Tenant: "acme", User: user}, host.RunQuery{})
		if err != nil || len(page.Items) != want || page.Items[len(page.Items)-1].ID != ours.RunID && want == 1 {
			t.Errorf("%q is listed %+v, %v, want %d", user, page.Items, err, want)
		}
	}
}

func TestRunQueriesThatAreRefused(t *testing.T) {
	p := confirming(t, nil)
	for name, q := range map[string]host.RunQuery{
		"limit": {Limit: 201}, "place": {After: "x"}, "negative limit": {Limit: -1}, "status": {Status: "sleeping"}, "termination": {Termination: "lightning"},
		"text": {Text: strings.Repeat("x", 201)}, "bytes that are no text": {Text: "\xff"}, "since": {Since: -1}, "until": {Until: -1}, "origin": {Origin: new(core.Origin("moon"))},
		"time": {MinMillis: -1}, "cost": {MinCost: -1},
	} {
		if _, err := p.Runs(t.Context(), local, q); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
		q.Thread = "a"
		if _, err := p.Runs(t.Context(), local, q); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s of a thread: %v", name, err)
		}
	}
	if _, err := p.Threads(t.Context(), local, host.ThreadQuery{Limit: 201}); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("threads: %v", err)
	}
	for _, text := range []string{string(make([]byte, 201)), "\xff"} {
		if _, err := p.Threads(t.Context(), local, host.ThreadQuery{Text: text}); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("a search for %d bytes: %v", len(text), err)
		}
	}
}

func TestTheActiveRunIsTheOpenOne(t *testing.T) {
	p := confirming(t, nil)
	done := say(t, p, "local", "t", "", "hello")
	if run, ok, err := p.ActiveRun(t.Context(), local, "t"); ok || err != nil {
		t.Errorf("behind %s %+v is active, %v", done.RunID, run, err)
	}
	waiting := ask(t, p, "local", "t", "", fmt.Sprintf(confirmed, "one"))
	run, ok, err := p.ActiveRun(t.Context(), local, "t")
	if err != nil || !ok || run.ID != waiting.RunID || run.Status != core.RunWaiting || len(run.Tickets) != 1 {
		t.Errorf("%+v is active, %v, %v", run, ok, err)
	}
	read, err := p.ReadRun(t.Context(), local, waiting.RunID)
	if diff := cmp.Diff(run, read); diff != "" || err != nil {
		t.Errorf("%v (-active +read):\n%s", err, diff)
	}
	if read, err := p.ReadRun(t.Context(), local, done.RunID); err != nil || len(read.Tickets) != 0 || read.Response != "You said: hello" {
		t.Errorf("the first is %+v, %v", read, err)
	}
}

func TestARunIsFoundByTheKeyOfItsInput(t *testing.T) {
	p := confirming(t, nil)
	s := submission("t", "hello")
	s.Key.Value = "mine"
	receipt, err := p.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if run, ok, err := p.RunOfKey(t.Context(), local, "t", "mine"); run != receipt.RunID || !ok || err != nil {
		t.Errorf("run %s, %v, %v", run, ok, err)
	}
	for thread, key := range map[string]string{"t": "yours", "none": "mine"} {
		if run, ok, err := p.RunOfKey(t.Context(), local, thread, key); ok || err != nil {
			t.Errorf("thread %s has run %s of %s, %v", thread, run, key, err)
		}
	}
}

// A run's dispatches are what is open, queued and over on its thread.
func TestTheMailboxOfAThreadIsPaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, names := manyRuns(t)
		var got []string
		q := mailbox.ListQuery{Limit: 1}
		for {
			page, err := p.Mailbox(t.Context(), local, "a", q)
			if err != nil || len(page.Dispatches) > 1 {
				t.Fatalf("%+v, %v", page, err)
			}
			for _, d := range page.Dispatches {
				got = append(got, names[d.RunID])
			}
			if q.After = page.Next; page.Next == "" {
				break
			}
		}
		if len(got) != 3 {
			t.Errorf("dispatches of %q", got)
		}
	})
}

// A list that a newer program has written still says where its entries are.
func TestAnUnreadableListingIsARunOfAnyAgent(t *testing.T) {
	r := newRig(t)
	p := r.process("w", r.store)
	receipt := say(t, p, "local", "t", "", "hello")
	name := recordname.Activity + receipt.RunID.String()
	key := core.ThreadKey{Tenant: "local", Thread: "t"}
	if err := r.store.Put(t.Context(), key, store.Record{Name: name, Fence: 99, Version: 99, Payload: []byte(`{"schema":99,"list":"` + recordname.RunsList("") + `","at":5}`)}); err != nil {
		t.Fatal(err)
	}
	page, err := p.Runs(t.Context(), local, host.RunQuery{Thread: "t", Agent: "demo"})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != receipt.RunID {
		t.Errorf("%+v, %v", page, err)
	}
}
