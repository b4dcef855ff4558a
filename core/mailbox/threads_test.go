package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// listed are the threads and runs of a list: name of the record, newest first.
func (w *world) listed(t *testing.T, list string) (threads []string) {
	t.Helper()
	all, err := w.store.Listed(t.Context(), key.Tenant, list, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		threads = append(threads, l.Thread)
	}
	return threads
}

func titled(title string) func(thread.About) (thread.About, error) {
	return func(a thread.About) (thread.About, error) {
		a.Title = title
		return a, nil
	}
}

func TestCreatedThreadIsListedAndTakesInput(t *testing.T) {
	w := newWorld(t)
	c := mailbox.Creating{Thread: key, User: "ann", About: thread.About{Title: "Rome", Metadata: json.RawMessage(`{"a":1}`)}}
	head, err := w.Create(t.Context(), c)
	if err != nil || head.Owner != "ann" || head.Busy(0) {
		t.Fatalf("Create returns %+v, %v", head, err)
	}
	about, err := w.About(t.Context(), key)
	if diff := cmp.Diff(thread.About{Title: "Rome", Metadata: json.RawMessage(`{"a":1}`)}, about); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	if got := w.listed(t, "threads:ann"); !slices.Equal(got, []string{"t1"}) {
		t.Errorf("ann's threads are %q, want t1", got)
	}
	if _, err := w.Create(t.Context(), c); !errors.Is(err, thread.ErrExists) {
		t.Errorf("a second Create without a key returns %v, want ErrExists", err)
	}
	w.submit(t, input("hi", ""))
	if got := w.listed(t, "runs:ann"); !slices.Equal(got, []string{"t1"}) {
		t.Errorf("ann's runs are on %q, want one on t1", got)
	}
}

// A crash between the thread and its title is made good by the same call, which does not
// take back what was changed since.
func TestCreateWithAKeyIsMadeWholeByTheSameCall(t *testing.T) {
	w := newWorld(t)
	c := mailbox.Creating{Thread: key, User: "ann", Key: "k", About: thread.About{Title: "Rome"}}
	commits := 0
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if commits++; commits == 2 {
			return store.Outcome{}, context.Canceled
		}
		return w.store.Backend.Commit(ctx, key, c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
		cancel() // so that the failure is not tried again
		return w.store.Backend.Get(ctx, key, name)
	}
	if _, err := w.Create(ctx, c); err == nil {
		t.Fatal("the call that was interrupted returns no error")
	}
	w.store.OnCommit, w.store.OnGet = nil, nil
	if about, _ := w.About(t.Context(), key); about.Title != "" {
		t.Fatalf("the title is %q already", about.Title)
	}
	for range 2 {
		if _, err := w.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if about, err := w.About(t.Context(), key); about.Title != "Rome" || err != nil {
			t.Errorf("the title is %q, %v, want Rome", about.Title, err)
		}
	}
	if _, _, err := w.Describe(t.Context(), key, "ann", titled("Paris")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if about, _ := w.About(t.Context(), key); about.Title != "Paris" {
		t.Errorf("the title is %q, want Paris, which came later", about.Title)
	}
	other := c
	other.About.Title = "Oslo"
	if _, err := w.Create(t.Context(), other); core.CodeOf(err) != core.CodeConflict {
		t.Errorf("other content under the same key: %v, want a conflict", err)
	}
	other = c
	other.Key = "another"
	if _, err := w.Create(t.Context(), other); !errors.Is(err, thread.ErrExists) {
		t.Errorf("the same content under another key: %v, want ErrExists", err)
	}
	other = c
	other.User = "bob"
	if _, err := w.Create(t.Context(), other); core.CodeOf(err) != core.CodeForbidden {
		t.Errorf("another user: %v, want forbidden", err)
	}
}

// Two changes at the same time: the second is made on the first.
func TestDescribeLosesNoChange(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("hi", ""))
	once := false
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if !once {
			once = true
			if _, _, err := w.Describe(ctx, key, "ann", func(a thread.About) (thread.About, error) {
				a.Metadata = json.RawMessage(`{"a":1}`)
				return a, nil
			}); err != nil {
				t.Error(err)
			}
		}
		return w.store.Backend.Commit(ctx, key, c)
	}
	about, _, err := w.Describe(t.Context(), key, "ann", titled("Rome"))
	if diff := cmp.Diff(thread.About{Title: "Rome", Metadata: json.RawMessage(`{"a":1}`)}, about); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}

func TestDescribeRefuses(t *testing.T) {
	w := newWorld(t)
	if _, _, err := w.Describe(t.Context(), key, "ann", titled("x")); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("a thread that does not exist: %v, want not_found", err)
	}
	w.submit(t, input("hi", ""))
	if _, _, err := w.Describe(t.Context(), key, "bob", titled("x")); core.CodeOf(err) != core.CodeForbidden {
		t.Errorf("another's thread: %v, want forbidden", err)
	}
	if about, _ := w.About(t.Context(), key); about.Title != "" {
		t.Errorf("bob has called ann's thread %q", about.Title)
	}
	w.delete(t)
	if _, _, err := w.Describe(t.Context(), key, "ann", titled("x")); core.CodeOf(err) != core.CodeDeleted {
		t.Errorf("a deleted thread: %v, want deleted", err)
	}
}

// family is t1 with the children c1 and c2, and a child of c1's.
func family(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.submit(t, input("hi", ""))
	for _, of := range []struct{ thread, parent string }{{"c1", "t1"}, {"c2", "t1"}, {"c11", "c1"}} {
		s := input("help", "")
		s.Thread.Thread, s.Origin = of.thread, core.OriginInternal
		s.Opening.Parent = &mailbox.Parent{Thread: of.parent, Run: core.ID{1}}
		w.submit(t, s)
	}
	return w
}

func (w *world) deleted(t *testing.T) (threads []string) {
	t.Helper()
	for _, name := range []string{"t1", "c1", "c2", "c11"} {
		head, err := w.Head(t.Context(), core.ThreadKey{Tenant: key.Tenant, Thread: name})
		if err != nil {
			t.Fatal(err)
		}
		if head.Deleted {
			threads = append(threads, name)
		}
	}
	return threads
}

func TestChildThreadsAreListedByTheirParent(t *testing.T) {
	w := family(t)
	for list, want := range map[string][]string{"threads:ann": {"t1"}, "children:t1": {"c1", "c2"}, "children:c1": {"c11"}} {
		got := w.listed(t, list)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", list, got, want)
		}
	}
	if got := len(w.listed(t, "runs:ann")); got != 4 {
		t.Errorf("ann has %d runs, want all 4", got)
	}
}

func TestWhatBecomesOfChildThreads(t *testing.T) {
	tests := []struct {
		children mailbox.Children
		want     []string
		code     core.Code
	}{
		{"", []string{"t1"}, ""}, // as ChildrenDetach: nobody loses what they did not name
		{mailbox.ChildrenCascade, []string{"t1", "c1", "c2", "c11"}, ""},
		{mailbox.ChildrenDetach, []string{"t1"}, ""},
		{mailbox.ChildrenReject, nil, core.CodeConflict},
		{"all", nil, core.CodeInvalid},
	}
	for _, tt := range tests {
		t.Run(string(tt.children), func(t *testing.T) {
			w := family(t)
			if err := w.DeleteWith(t.Context(), key, "ann", tt.children); core.CodeOf(err) != tt.code {
				t.Errorf("DeleteWith returns %v, want code %q", err, tt.code)
			}
			if got := w.deleted(t); !slices.Equal(got, tt.want) {
				t.Errorf("deleted are %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAThreadWithoutChildrenIsDeletedWhereThoseWouldBeRefused(t *testing.T) {
	w := family(t)
	if err := w.DeleteWith(t.Context(), core.ThreadKey{Tenant: key.Tenant, Thread: "c2"}, "ann", mailbox.ChildrenReject); err != nil {
		t.Error(err)
	}
	if got := w.deleted(t); !slices.Equal(got, []string{"c2"}) {
		t.Errorf("deleted are %q, want c2", got)
	}
}

// What fails on the way leaves the parent, so that the same call again finishes it.
func TestACascadeThatFailsIsFinishedByTheSameCall(t *testing.T) {
	w := family(t)
	w.store.OnHead = func(ctx context.Context, k core.ThreadKey) (thread.Head, error) {
		if k.Thread == "c2" {
			return thread.Head{}, store.ErrThrottled
		}
		return w.store.Backend.Head(ctx, k)
	}
	if err := w.DeleteWith(t.Context(), key, "ann", mailbox.ChildrenCascade); !errors.Is(err, store.ErrThrottled) {
		t.Errorf("DeleteWith returns %v, want the store's error", err)
	}
	w.store.OnHead = nil
	if slices.Contains(w.deleted(t), "t1") {
		t.Fatal("the parent is gone before its children")
	}
	if err := w.DeleteWith(t.Context(), key, "ann", mailbox.ChildrenCascade); err != nil {
		t.Fatal(err)
	}
	if got := w.deleted(t); len(got) != 4 {
		t.Errorf("deleted are %q, want all 4", got)
	}
}

func TestOnlyTheOwnerDeletesAFamily(t *testing.T) {
	w := family(t)
	for _, children := range []mailbox.Children{"", mailbox.ChildrenCascade, mailbox.ChildrenReject, mailbox.ChildrenDetach} {
		if err := w.DeleteWith(t.Context(), key, "bob", children); core.CodeOf(err) != core.CodeForbidden {
			t.Errorf("DeleteWith %q by another user returns %v, want forbidden", children, err)
		}
	}
	if got := w.deleted(t); got != nil {
		t.Errorf("deleted are %q", got)
	}
}

// A title that comes with a new thread is stored by the second write, which looks at what
// is stored; nothing else does.
func TestATitleOfANewThreadCostsOneRead(t *testing.T) {
	w := newWorld(t)
	reads := 0
	w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
		reads++
		return w.store.Backend.Get(ctx, key, name)
	}
	head, err := w.Create(t.Context(), mailbox.Creating{Thread: key, User: "ann", About: thread.About{Title: "one"}})
	if err != nil || head.Version != 2 || reads != 1 {
		t.Errorf("head at version %d after %d reads, %v; want version 2 and one read", head.Version, reads, err)
	}
	bare := key
	bare.Thread = "bare"
	if head, err := w.Create(t.Context(), mailbox.Creating{Thread: bare, User: "ann"}); err != nil || head.Version != 1 || reads != 1 {
		t.Errorf("without a title the head is at version %d after %d reads, %v; want version 1 and no read more", head.Version, reads, err)
	}
}

// What a newer program has stored beside title and metadata stays.
func TestATitleKeepsWhatANewerProgramSays(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	w.put(t, store.Record{Name: recordname.About, Payload: []byte(`{"schema":1,"title":"Rome","color":"red"}`)})
	if _, _, err := w.Describe(t.Context(), key, "ann", func(thread.About) (thread.About, error) { return thread.About{Title: "Oslo"}, nil }); err != nil {
		t.Fatal(err)
	}
	record, _, err := w.store.Get(t.Context(), key, recordname.About)
	if got := string(record.Payload); got != `{"schema":1,"title":"Oslo","color":"red"}` || err != nil {
		t.Errorf("stored is %s, %v", got, err)
	}
}

// A title is stored by the same call also where others have written since the thread was
// made; the key's pointer says what the thread was made with.
func TestCreateIsMadeWholeBehindOthers(t *testing.T) {
	w := newWorld(t)
	c := mailbox.Creating{Thread: key, User: "ann", Key: "k", About: thread.About{Title: "Rome"}}
	var made []store.Pointer
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, commit store.Commit) (store.Outcome, error) {
		if made != nil {
			return store.Outcome{}, core.Errorf(core.CodeInvalid, "the process ends here")
		}
		made = commit.Pointers
		return w.store.Backend.Commit(ctx, key, commit)
	}
	if _, err := w.Create(t.Context(), c); core.CodeOf(err) != core.CodeInvalid {
		t.Fatal(err)
	}
	w.store.OnCommit = nil
	w.submit(t, input("hi", ""))
	if _, err := w.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if about, err := w.About(t.Context(), key); about.Title != "Rome" || err != nil {
		t.Errorf("the title is %q, %v", about.Title, err)
	}
	var pointer struct{ Thread, Body string }
	if err := json.Unmarshal(made[0].Value, &pointer); err != nil || len(made) != 1 || pointer.Thread != "t1" || len(pointer.Body) != 32 || made[0].TTL != 48*time.Hour {
		t.Errorf("pointers %+v, %v", made, err)
	}
}
