package host

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/pins"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// A child is a submission of its own: under a key and, unless it names one, on a thread that
// follow from its call; its end wakes the call, but for one in the background.
func TestAChildIsSubmittedForItsCall(t *testing.T) {
	r, _ := program(t, nil)
	starts := children{r.submits, pins.New(r.submits.agents, memory.New())}
	call := tool.Call{Idempotency: "run/2/3", Index: 3, Thread: core.ThreadKey{Tenant: "acme", Thread: "t"}, Run: core.ID{5}, User: "ann"}
	for name, test := range map[string]struct {
		child  tool.Child
		thread string
		parent mailbox.Parent
	}{
		"the only one":      {tool.Child{}, "child.run.2.3", mailbox.Parent{Thread: "t", Run: core.ID{5}, Call: 3}},
		"by a name":         {tool.Child{Name: "first"}, "child.run.2.3.first", mailbox.Parent{Thread: "t", Run: core.ID{5}, Call: 3}},
		"on a thread":       {tool.Child{Name: "second", Thread: "own"}, "own", mailbox.Parent{Thread: "t", Run: core.ID{5}, Call: 3}},
		"in the background": {tool.Child{Name: "third", Background: true}, "child.run.2.3.third", mailbox.Parent{Thread: "t", Run: core.ID{5}, Call: thread.NoCall}},
	} {
		test.child.Request = []byte(`{"n":1}`)
		test.child.Agent, test.child.Messages = "demo", []core.Message{core.UserMessage(name)}
		run, err := starts.StartChild(t.Context(), call, test.child, unlisted)
		if err != nil {
			t.Fatal(name, err)
		}
		if again, err := starts.StartChild(t.Context(), call, test.child, unlisted); again != run || err != nil {
			t.Errorf("%s: again it is run %s, %v", name, again, err)
		}
		key := core.ThreadKey{Tenant: "acme", Thread: test.thread}
		head, err := r.mailbox.Head(t.Context(), key)
		if err != nil || len(head.Pending) != 1 || head.Owner != "ann" || head.Pending[0].Run != run {
			t.Fatalf("%s: %+v, %v", name, head, err)
		}
		name := "child run/2/3"
		if test.child.Name != "" {
			name += "/" + test.child.Name
		}
		if known, ok, err := r.mailbox.Submitted(t.Context(), key, head, name); known != run || !ok || err != nil {
			t.Errorf("%q is run %s, %t, %v", name, known, ok, err)
		}
		stored, _, err := r.reads.store.Get(t.Context(), key, recordname.Input(head.Pending[0].ID, 0))
		if err != nil {
			t.Fatal(err)
		}
		in, err := r.reads.records.DecodeQueued(stored.Payload)
		if err != nil || in.Parent == nil || in.Parent.Thread != test.parent.Thread || in.Parent.Run != test.parent.Run || in.Parent.Call != test.parent.Call || in.Origin != core.OriginInternal || string(in.Request) != `{"n":1}` || in.AgentID != "demo" {
			t.Errorf("%s: %+v of %+v, %v", name, in, in.Parent, err)
		}
	}
}

// asksFirst is a tool that waits for a person.
func asksFirst() tool.Tool {
	return tool.New(tool.Spec{Name: "danger"}, func(_ context.Context, c tool.Call, a struct {
		Text string `json:"text"`
	}) (tool.Result, error) {
		if c.Resume == nil {
			return tool.Suspended(core.TicketRequest{Action: "tool:danger", Message: a.Text}), nil
		}
		return tool.NewResult("did " + a.Text), nil
	})
}

// An agent that is not named is the default one; a tenant without limits has none; who has no
// user has one list; a thread that cannot be read has no run of a key.
func TestWhatIsNotNamed(t *testing.T) {
	over := &storetest.Faulty{Backend: memory.New()}
	r, _ := program(t, func(c *Options) { c.Store, c.Agents.Default = over, "demo" })
	if got, err := r.Run(t.Context(), "", "hello"); err != nil || got.Text != "You said: hello" || got.Run.AgentID != "demo" {
		t.Errorf("%q of %q, %v", got.Text, got.Run.AgentID, err)
	}
	if got, err := r.Limits(t.Context(), "acme"); err != nil || !got.IsZero() || got.Ends != 0 {
		t.Errorf("limits %+v, %v", got, err)
	}
	if diff := cmp.Diff([][]string{{"runs:"}, {"runs:ann", "runs:"}}, [][]string{listsOf(recordname.RunsList, ""), listsOf(recordname.RunsList, "ann")}); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
	over.OnHead = func(context.Context, core.ThreadKey) (thread.Head, error) { return thread.Head{}, errAway }
	if run, ok, err := r.RunOfKey(t.Context(), core.Identity{Tenant: "acme"}, "t", "k"); ok || !run.IsZero() || !errors.Is(err, errAway) {
		t.Errorf("run %s, %t, %v", run, ok, err)
	}
	if _, ok, err := r.ActiveRun(t.Context(), core.Identity{Tenant: "acme"}, "t"); ok || !errors.Is(err, errAway) {
		t.Errorf("active %t, %v", ok, err)
	}
}

// Metadata is an object, or nothing, and no more than that.
func TestWhatMetadataMayBe(t *testing.T) {
	for _, test := range []struct{ was, patch, want, refused string }{
		{"", `{"b":1,"a":{"c":2}}`, `{"a":{"c":2},"b":1}`, ""},
		{`{"a":1}`, `{"b":12345678901234567890}`, `{"a":1,"b":12345678901234567890}`, ""},
		{`{"a":1,"b":{"c":2,"d":3}}`, `{"a":null,"b":{"c":null}}`, `{"b":{"d":3}}`, ""},
		{`{"a":1}`, `{"a":null}`, "", ""},
		{`{"a":1}`, `null`, "", ""},
		{`{"a":1}`, `{`, "", "metadata is not JSON: unexpected EOF"},
		{`{"a":1}`, `tru`, "", "metadata is not JSON: unexpected EOF"},
		{`{"a":1}`, `{} {}`, "", "metadata is not JSON: unexpected data after the value"},
		{`{"a":1}`, `[]`, "", "metadata must be an object, or null"},
		{`{`, `{"a":1}`, "", "stored metadata is not JSON: unexpected EOF"},
	} {
		var was []byte
		if test.was != "" {
			was = []byte(test.was)
		}
		got, err := merge(was, []byte(test.patch))
		if string(got) != test.want || (err == nil) != (test.refused == "") || err != nil && err.Error() != test.refused {
			t.Errorf("%s on %s: %s, %v; want %s, %s", test.patch, test.was, got, err, test.want, test.refused)
		}
	}
	if got, err := merge([]byte(`{"a":1}`), nil); string(got) != `{"a":1}` || err != nil {
		t.Errorf("no change: %s, %v", got, err)
	}
}

// Whatever read of the log fails, the state at a revision and the changes since one fail.
func TestAStateWhoseLogCannotBeRead(t *testing.T) {
	whole := logged(t, thread.Head{}, nil,
		thread.Entry{Run: theRun, Revision: 3, Patch: record(1, 3, "/thread/k", "1").Patch}, thread.Entry{Run: theRun, Revision: 5, Patch: record(2, 5, "/thread/k", "2").Patch})
	reads, fails := 0, 0
	r, _ := program(t, func(c *Options) {
		c.Store = &storetest.Faulty{Backend: whole.reads.store, Around: func(ctx context.Context, _ storetest.Operation, do func(context.Context) error) error {
			if reads++; reads == fails {
				return errAway
			}
			return do(ctx)
		}}
	})
	id, revision := core.Identity{Tenant: "acme"}, uint64(3)
	for name, read := range map[string]func() error{
		"state":   func() error { _, err := r.State(t.Context(), id, "t", &revision); return err },
		"changes": func() error { _, err := r.StatePatches(t.Context(), id, "t", StateQuery{Since: 3}); return err },
	} {
		for fails = 1; ; fails++ {
			reads = 0
			err := read()
			if reads < fails {
				if err != nil || fails < 4 {
					t.Errorf("%s: %v after %d reads", name, err, reads)
				}
				break
			}
			if !errors.Is(err, errAway) {
				t.Errorf("%s: read %d fails: %v", name, fails, err)
			}
		}
	}
}

// unlisted lists a child run nowhere.
func unlisted(context.Context, core.ID) error { return nil }
