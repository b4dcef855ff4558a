package host_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// stored makes a thread of finished runs, a message of so many KB each: the letter
// is the run.
func stored(t *testing.T, backend store.Backend, runs string, kb ...int) core.ThreadKey {
	t.Helper()
	key := core.ThreadKey{Tenant: "local", Thread: "t1"}
	for i, run := range runs {
		size := kb[min(i, len(kb)-1)] << 10
		m := core.Message{
			ID: fmt.Sprintf("%c%d", run, i+1), RunID: core.ID{byte(run)}, Role: core.RoleUser,
			Content: []core.Block{{Type: core.BlockText, Text: strings.Repeat("x", size)}},
		}
		payload, err := thread.Records{}.EncodeEntry(&thread.Entry{Run: m.RunID, Message: &m})
		if err != nil {
			t.Fatal(err)
		}
		if err := backend.Put(t.Context(), key, store.Record{Name: store.LogName(uint64(i + 1)), Fence: 1, Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	head := thread.Head{Layout: thread.Layout, Schema: 1, Version: 1, CommitID: core.ID{9}, Incarnation: 1, Fence: 1, Seq: uint64(len(runs))}
	if outcome, err := backend.Commit(t.Context(), key, store.Commit{Head: head}); err != nil || !outcome.Written {
		t.Fatalf("%+v, %v", outcome, err)
	}
	return key
}

// lazy counts the log records that are taken from a store.
type lazy struct {
	store.Backend
	records int
}

func (l *lazy) count(log iter.Seq2[store.Record, error]) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for record, err := range log {
			l.records++
			if !yield(record, err) {
				return
			}
		}
	}
}

func (l *lazy) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return l.count(l.Backend.Log(ctx, key, from, to))
}

func (l *lazy) LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return l.count(l.Backend.LogBackwards(ctx, key, from, to))
}

// ids are those of a page's messages.
func ids(page host.MessagePage) (all []string) {
	for _, m := range page.Messages {
		all = append(all, m.ID)
	}
	return all
}

func TestPagesEndByBytes(t *testing.T) {
	tests := []struct {
		name    string
		runs    string
		kb      []int
		query   host.MessageQuery
		pages   [][]string
		records []int // of the log that each page takes
	}{
		{"three megabytes", "aaaaaaaa", []int{900}, host.MessageQuery{Limit: 200},
			[][]string{{"a1", "a2", "a3"}, {"a4", "a5", "a6"}, {"a7", "a8"}}, []int{4, 4, 2}},
		{"a limit comes first", "aaa", []int{900}, host.MessageQuery{Limit: 2}, [][]string{{"a1", "a2"}, {"a3"}}, []int{2, 1}},
		{"fewer bytes", "aaa", []int{1}, host.MessageQuery{Bytes: 2500}, [][]string{{"a1", "a2"}, {"a3"}}, []int{3, 1}},
		{"one message is too large", "aaa", []int{1, 20, 1}, host.MessageQuery{Bytes: 2500}, [][]string{{"a1"}, {"a2"}, {"a3"}}, []int{2, 2, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			backend := &lazy{Backend: memory.New()}
			stored(t, backend, tt.runs, tt.kb...)
			process := newRig(t).process("r", backend)
			q := tt.query
			for i, want := range tt.pages {
				backend.records = 0
				page, err := process.Messages(t.Context(), local, "t1", q)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, ids(page)); diff != "" || backend.records != tt.records[i] {
					t.Errorf("page %d takes %d records, want %d (-want +got):\n%s", i, backend.records, tt.records[i], diff)
				}
				if last := i == len(tt.pages)-1; last != (page.Next == 0) {
					t.Fatalf("page %d: next is %d", i, page.Next)
				}
				q.After = page.Next
			}
		})
	}
}

func TestTheNewestMessagesAreWholeRuns(t *testing.T) {
	tests := []struct {
		name         string
		runs         string
		query        host.MessageQuery
		want         []string
		earlier, cut bool
		records      int
	}{
		{"all of them", "aabb", host.MessageQuery{}, []string{"a1", "a2", "b3", "b4"}, false, false, 4},
		{"whole runs", "aabbcc", host.MessageQuery{Bytes: 5000}, []string{"b3", "b4", "c5", "c6"}, true, false, 5},
		{"no half run", "aaabbcc", host.MessageQuery{Bytes: 6500}, []string{"b4", "b5", "c6", "c7"}, true, false, 6},
		{"by a limit", "aabbcc", host.MessageQuery{Limit: 3}, []string{"c5", "c6"}, true, false, 4},
		{"a run that does not fit", "aabbbb", host.MessageQuery{Bytes: 2500}, []string{"b5", "b6"}, true, true, 3},
		{"behind a sequence", "aabbcc", host.MessageQuery{After: 2}, []string{"b3", "b4", "c5", "c6"}, false, false, 4},
		{"a message that does not fit", "aab", host.MessageQuery{Bytes: 100}, []string{"b3"}, true, false, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			backend := &lazy{Backend: memory.New()}
			stored(t, backend, tt.runs, 1)
			tt.query.Newest = true
			page, err := newRig(t).process("r", backend).Messages(t.Context(), local, "t1", tt.query)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, ids(page)); diff != "" || page.Earlier != tt.earlier || page.Cut != tt.cut || page.Next != 0 {
				t.Errorf("earlier %t, cut %t, next %d (-want +got):\n%s", page.Earlier, page.Cut, page.Next, diff)
			}
			if backend.records != tt.records {
				t.Errorf("%d records were taken, want %d", backend.records, tt.records)
			}
		})
	}
}

// The newest messages leave out what is superseded, as every page does.
func TestTheNewestMessagesPassOverWhatIsSuperseded(t *testing.T) {
	w := newWorld(t, nil)
	for _, s := range []mailbox.Submission{
		submission("t1", "one"), submission("t1", "two"), {Opening: mailbox.Opening{Supersede: 3}}, submission("t1", "four"), {Opening: mailbox.Opening{Supersede: 6}},
	} {
		if s.Opening.Supersede > 0 {
			at := s.Opening.Supersede
			s = submission("t1", "instead")
			s.Opening.Supersede = at
		}
		if _, err := w.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		w.drain(t)
	}
	oldest, err := w.Messages(t.Context(), local, "t1", host.MessageQuery{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	newest, err := w.Messages(t.Context(), local, "t1", host.MessageQuery{Newest: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ids(oldest), ids(newest)); diff != "" || len(newest.Messages) != 4 || newest.Earlier {
		t.Errorf("earlier %t (-oldest first +newest):\n%s", newest.Earlier, diff)
	}
}

// A page does not show what may be superseded.
func TestAPageNeedsToKnowWhatIsSuperseded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		writer := r.process("w", r.store)
		key := core.ThreadKey{Tenant: "local", Thread: "t1"}
		for _, supersede := range []uint64{0, 1} {
			s := submission("t1", "hello")
			s.Opening.Supersede = supersede
			if _, err := writer.Submit(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			r.settle(writer, key)
		}
		record := r.head(key).Supersedes
		process := r.process("r", &storetest.Faulty{Backend: r.store, OnLog: func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
			if from == record {
				return func(yield func(store.Record, error) bool) { yield(store.Record{}, store.ErrThrottled) }
			}
			return r.store.Log(ctx, key, from, to)
		}})
		for _, newest := range []bool{false, true} {
			page, err := process.Messages(t.Context(), local, "t1", host.MessageQuery{Newest: newest})
			if !errors.Is(err, store.ErrThrottled) || page.Messages != nil {
				t.Errorf("newest %t: %v, error %v, want the store's and nothing", newest, ids(page), err)
			}
		}
	})
}

// Input that nobody has read counts too, and no page leaves any of it out.
func TestPendingInputIsPagedByBytes(t *testing.T) { synctest.Test(t, pendingIsPaged) }

func pendingIsPaged(t *testing.T) {
	r := newRig(t)
	process := r.process("w", r.store)
	for i := range 4 {
		s := submission("t1", strings.Repeat(fmt.Sprint(i), 900<<10))
		if _, err := process.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond) // ids are in the order of milliseconds
	}
	texts := func(page host.MessagePage) (all string) {
		for _, m := range page.Messages {
			all += m.Text()[:1]
		}
		return all
	}
	page := func(q host.MessageQuery) host.MessagePage {
		t.Helper()
		p, err := process.Messages(t.Context(), local, "t1", q)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := page(host.MessageQuery{})
	second := page(host.MessageQuery{After: first.Next})
	if texts(first) != "012" || texts(second) != "3" || second.Next != 0 {
		t.Errorf("pages %s and %s, next %d; want 012 and 3, 0", texts(first), texts(second), second.Next)
	}
	if newest := page(host.MessageQuery{Newest: true}); texts(newest) != "123" || !newest.Earlier || !newest.Cut {
		t.Errorf("the newest are %s, earlier %t, cut %t; want 123, true, true", texts(newest), newest.Earlier, newest.Cut)
	}
	workNext(t, r, process) // the log comes on, and with it the cursor: what is early then is shown from the first
	later := page(host.MessageQuery{After: first.Next})
	if texts(later) != "0Y1" || later.Next != 1<<40+2 { // the model says "You said: ..."; one early message behind sequence 2
		t.Errorf("when the first run is over, the page is %s, next %d; want 0Y1, %d", texts(later), later.Next, 1<<40+2)
	}
}

func TestQueriesThatAreRefused(t *testing.T) {
	process := newRig(t).process("r", memory.New())
	for _, q := range []host.MessageQuery{{Limit: 201}, {Limit: -1}, {Bytes: 3_000_001}, {Bytes: -1}, {Newest: true, Limit: 201}} {
		if _, err := process.Messages(t.Context(), local, "t1", q); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%+v: %v, want code invalid", q, err)
		}
	}
}
