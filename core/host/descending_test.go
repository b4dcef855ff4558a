package host_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store/memory"
)

// pages reads all pages of a query, each as its message ids.
func pages(t *testing.T, p *host.Host, q host.MessageQuery) (all [][]string) {
	t.Helper()
	for range 20 {
		page, err := p.Messages(t.Context(), local, "t1", q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ids(page))
		if page.Next == 0 {
			return all
		}
		if q.Descending {
			q.Before = page.Next
		} else {
			q.After = page.Next
		}
	}
	t.Fatal("20 pages, and no end")
	return nil
}

func TestMessagesAreReadBackwards(t *testing.T) {
	backend := memory.New()
	stored(t, backend, "aabccc", 1)
	p := newRig(t).process("w", backend)
	for _, test := range []struct {
		name string
		q    host.MessageQuery
		want [][]string
	}{
		{"all", host.MessageQuery{Descending: true}, [][]string{{"c6", "c5", "c4", "b3", "a2", "a1"}}},
		{"in twos", host.MessageQuery{Descending: true, Limit: 2}, [][]string{{"c6", "c5"}, {"c4", "b3"}, {"a2", "a1"}}},
		{"by bytes", host.MessageQuery{Descending: true, Bytes: 3000}, [][]string{{"c6", "c5"}, {"c4", "b3"}, {"a2", "a1"}}},
		{"one larger than a page", host.MessageQuery{Descending: true, Bytes: 1}, [][]string{{"c6"}, {"c5"}, {"c4"}, {"b3"}, {"a2"}, {"a1"}}},
		{"before one", host.MessageQuery{Descending: true, Before: 3}, [][]string{{"a2", "a1"}}},
		{"before the first", host.MessageQuery{Descending: true, Before: 1}, [][]string{nil}},
		{"from beyond the end", host.MessageQuery{Descending: true, Before: 99, Limit: 4}, [][]string{{"c6", "c5", "c4", "b3"}, {"a2", "a1"}}},
		{"After does not count", host.MessageQuery{Descending: true, After: 5, Limit: 200}, [][]string{{"c6", "c5", "c4", "b3", "a2", "a1"}}},
	} {
		if diff := cmp.Diff(test.want, pages(t, p, test.q)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// The messages of one run: what its records have, also where others come before and behind
// them, forwards and backwards, in pages of any size.
func TestMessagesOfOneRun(t *testing.T) {
	p := confirming(t, nil)
	say(t, p, "local", "t1", "", "hello")
	receipt := say(t, p, "local", "t1", "", `call: echo {"text":"x"}`)
	work(t, p, receipt)
	say(t, p, "local", "t1", "", "bye")
	whole := pages(t, p, host.MessageQuery{Run: receipt.RunID})
	if len(whole) != 1 || len(whole[0]) != 4 {
		t.Fatalf("the run has %q", whole)
	}
	m := whole[0]
	for _, test := range []struct {
		name string
		q    host.MessageQuery
		want [][]string
	}{
		{"in threes", host.MessageQuery{Limit: 3}, [][]string{m[:3], m[3:]}},
		{"in fours", host.MessageQuery{Limit: 4}, [][]string{m, nil}},
		{"backwards", host.MessageQuery{Descending: true}, [][]string{{m[3], m[2], m[1], m[0]}}},
		{"backwards in threes", host.MessageQuery{Descending: true, Limit: 3}, [][]string{{m[3], m[2], m[1]}, {m[0]}}},
	} {
		test.q.Run = receipt.RunID
		if diff := cmp.Diff(test.want, pages(t, p, test.q)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	other := say(t, p, "local", "t2", "", "hello")
	if _, err := p.Messages(t.Context(), local, "t1", host.MessageQuery{Run: other.RunID}); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("a run of another thread: %v", err)
	}
}

// work takes steps of a run until its thread has nothing to do.
func work(t *testing.T, p *host.Host, receipt mailbox.Receipt) {
	t.Helper()
	for range 10 {
		if err := p.WorkLocal(t.Context(), core.WakeUp{Tenant: "local", Thread: receipt.ThreadID, Dispatch: receipt.DispatchID}); err != nil {
			t.Fatal(err)
		}
	}
}

// Results of an open round and input that waits come first in the order of time backwards,
// and a cursor into them goes on among them.
func TestEarlyMessagesAreReadBackwards(t *testing.T) {
	p := confirming(t, nil)
	say(t, p, "local", "t1", "", "hello")
	for _, text := range []string{"one", "two"} {
		s := submission("t1", text)
		s.Messages[0].ID = text
		if _, err := p.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	log := pages(t, p, host.MessageQuery{})[0]
	if len(log) != 4 {
		t.Fatalf("messages %q", log)
	}
	for _, test := range []struct {
		limit int
		bytes int
		want  [][]string
	}{
		{2, 0, [][]string{{"two", "one"}, {log[1], log[0]}}},
		{1, 1, [][]string{{"two"}, {"one"}, {log[1]}, {log[0]}}},
		{50, 0, [][]string{{"two", "one", log[1], log[0]}}},
	} {
		got := pages(t, p, host.MessageQuery{Descending: true, Limit: test.limit, Bytes: test.bytes})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", test.limit, diff)
		}
	}
	// Of the run that waits in the queue there is nothing but its input.
	var queued core.ID
	page, err := p.Messages(t.Context(), local, "t1", host.MessageQuery{Descending: true, Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Messages {
		if m.Pending != (m.ID == "one" || m.ID == "two") {
			t.Errorf("%s is pending: %v", m.ID, m.Pending)
		}
		if m.ID == "two" {
			queued = m.RunID
		}
	}
	for _, descending := range []bool{true, false} {
		got := pages(t, p, host.MessageQuery{Run: queued, Descending: descending})
		if diff := cmp.Diff([][]string{{"two"}}, got); diff != "" {
			t.Errorf("of the queued run, descending %v (-want +got):\n%s", descending, diff)
		}
	}
}
