package host_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// drawls gives the demo agent a model that says so many words, one every 700 ms.
func drawls(words int, events agent.EventMode) func(*host.Options) {
	var said []string
	for i := range words {
		said = append(said, fmt.Sprint(i, " "))
	}
	return func(c *host.Options) {
		c.Agents.Models["m"] = binding(drawl(said))
		c.Agents.Specs = []agent.Spec{{ID: "demo", Model: "m", Events: events}}
	}
}

// records returns the thread's records with a prefix.
func (r *rig) records(key core.ThreadKey, prefix string) []store.Record {
	r.t.Helper()
	found, err := r.store.Records(r.t.Context(), key, prefix, "", 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// Nobody reads what a streamed run's model says but the client that the process itself
// streams to: nothing is stored of it before its commit.
func TestAStreamThatNobodyElseFollowsStoresNoChunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("a", r.store, drawls(42, "")) // 29.4 s
		got := timed{began: time.Now()}
		if _, err := process.Stream(t.Context(), submission("t1", "hi"), host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		if len(got.lines) != 43 || got.lines[0] != "700ms text_delta 0" || got.lines[42] != "29.4s run_finish" {
			t.Errorf("the client has %q", got.lines)
		}
		if chunks := r.records(core.ThreadKey{Tenant: "local", Thread: "t1"}, "E#"); len(chunks) > 0 {
			t.Errorf("%d chunks are stored, want none", len(chunks))
		}
	})
}

// A reader in another process is shown what is said within 3.5 s of its coming, and then a
// second behind, however the run was started.
func TestAFollowerInAnotherProcessHearsWhatIsSaidOnDemand(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprint("streamed ", streamed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				a, b := r.process("a", r.store, drawls(42, "")), r.process("b", r.store, drawls(42, ""))
				began, done := time.Now(), make(chan struct{})
				id := r.starts(a, streamed, done)
				time.Sleep(5 * time.Second)
				got := timed{began: began}
				if err := b.Follow(t.Context(), local, id, host.ListenerFunc(got.sink)); err != nil {
					t.Fatal(err)
				}
				<-done
				text, first := "", time.Duration(0)
				for _, line := range got.lines {
					at, words, ok := strings.Cut(line, " text_delta ")
					if !ok {
						continue
					}
					when, err := time.ParseDuration(at)
					if err != nil {
						t.Fatal(err)
					}
					if text == "" {
						first = when
					}
					text += words + " "
					n := len(strings.Fields(text))
					if due := time.Duration(n) * 700 * time.Millisecond; when > 8500*time.Millisecond && when-due > time.Second+700*time.Millisecond {
						t.Errorf("word %d was said at %s, the next comes at %s", n, due, when)
					}
				}
				if first > 8500*time.Millisecond || first < 5*time.Second {
					t.Errorf("who comes at 5s is shown the first words at %s, want by 8.5s", first)
				}
				if fields := strings.Fields(text); len(fields) != 42 || fields[0] != "0" || fields[41] != "41" {
					t.Errorf("the reader has %q", text)
				}
			})
		})
	}
}

// starts lets a process work on a run of the thread t1, and closes done when it is over.
func (r *rig) starts(process *host.Host, streamed bool, done chan<- struct{}) core.ID {
	r.t.Helper()
	if !streamed {
		receipt, err := process.Submit(r.t.Context(), submission("t1", "hi"))
		if err != nil {
			r.t.Fatal(err)
		}
		go func() {
			defer close(done)
			r.settle(process, core.ThreadKey{Tenant: "local", Thread: "t1"})
		}()
		return receipt.RunID
	}
	id := make(chan core.ID, 1)
	go func() {
		defer close(done)
		_, err := process.Stream(r.t.Context(), submission("t1", "hi"), host.ListenerFunc(func(e core.Event) error {
			if e.Type == core.EventRunStart {
				id <- e.RunID
			}
			return nil
		}))
		if err != nil {
			r.t.Error(err)
		}
	}()
	return <-id
}

// The mark of a reader that has left counts for a minute; what is said behind that costs
// nothing again.
func TestChunksEndAMinuteBehindTheLastFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		words := drawls(200, "") // 140 s
		a, b := r.process("a", r.store, words), r.process("b", r.store, words)
		began, done := time.Now(), make(chan struct{})
		id := r.starts(a, false, done)
		time.Sleep(5 * time.Second)
		got := timed{began: began}
		gone := fmt.Errorf("gone")
		_ = b.Follow(t.Context(), local, id, host.ListenerFunc(func(e core.Event) error {
			if _ = got.sink(e); time.Since(began) > 10*time.Second {
				return gone
			}
			return nil
		}))
		<-done
		var last time.Duration
		for _, chunk := range r.records(core.ThreadKey{Tenant: "local", Thread: "t1"}, "E#") {
			last = max(last, time.Unix(chunk.Expires, 0).Add(-24*time.Hour).Sub(began))
		}
		if last < 60*time.Second || last > 68*time.Second {
			t.Errorf("the last chunk is stored at %s, want about a minute behind the mark of 5s", last)
		}
	})
}

// Who follows in the process that works on the run is told each word as it is said, and
// nothing is stored for it.
func TestAFollowerInTheSameProcessIsToldEachWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("a", r.store, drawls(5, ""))
		began, done := time.Now(), make(chan struct{})
		id := r.starts(process, false, done)
		time.Sleep(2 * time.Second)
		got := timed{began: began}
		if err := process.Follow(t.Context(), local, id, host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		<-done
		want := []string{"2s text_delta 0 1", "2.1s text_delta 2", "2.8s text_delta 3", "3.5s text_delta 4", "3.5s run_finish"}
		if diff := cmp.Diff(want, got.lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, prefix := range []string{"E#", "F#"} {
			if found := r.records(core.ThreadKey{Tenant: "local", Thread: "t1"}, prefix); len(found) > 0 {
				t.Errorf("%d records %s are stored, want none", len(found), prefix)
			}
		}
	})
}

// marking counts when marks are left, as the times since it was called.
func (r *rig) marking() (times func() []string) {
	began := time.Now()
	var mu sync.Mutex
	var all []string
	r.store.OnPut = func(ctx context.Context, key core.ThreadKey, record store.Record) error {
		err := r.store.Backend.Put(ctx, key, record)
		if record.Name == "F#" && err == nil {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, time.Since(began).Round(time.Second).String())
		}
		return err
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// A mark lasts a minute and is renewed when less than 15 s of it are left, by whoever comes
// first of those who follow; also where nothing else moves the head on, which its record
// stands beside.
func TestOneMarkServesAllWhoFollow(t *testing.T) {
	for _, lease := range []time.Duration{30 * time.Second, 10 * time.Minute} {
		t.Run(lease.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				words := drawls(200, "") // 140 s
				a := r.process("a", r.store, words, func(c *host.Options) { c.Lease = lease })
				marks, done := r.marking(), make(chan struct{})
				id := r.starts(a, false, done)
				time.Sleep(5 * time.Second)
				readers, began := [2]timed{{began: time.Now()}, {began: time.Now()}}, time.Now()
				ended := make(chan error)
				for i := range readers {
					b := r.process(fmt.Sprint("b", i), r.store, words)
					go func() {
						time.Sleep(time.Duration(i) * 700 * time.Millisecond)
						ended <- b.Follow(t.Context(), local, id, host.ListenerFunc(readers[i].sink))
					}()
				}
				for range readers {
					if err := <-ended; err != nil {
						t.Fatal(err)
					}
				}
				<-done
				if diff := cmp.Diff([]string{"5s", "50s", "1m36s"}, marks()); diff != "" {
					t.Errorf("marks are left at (-want +got):\n%s", diff)
				}
				for i := range readers {
					if n := len(readers[i].lines); n < 150 || !strings.HasSuffix(readers[i].lines[n-1], " run_finish") {
						t.Errorf("reader %d has %d pieces since %s", i, n, time.Since(began))
					}
				}
			})
		})
	}
}

// The next step of a run that is followed need not look: the hint says so.
func TestTheNextStepInAnotherProcessIsHeardFromItsFirstWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		words := func(c *host.Options) {
			c.Agents.Models["m"] = binding(talks{r, 10})
		}
		b := r.process("b", r.store, words)
		receipt, err := b.Submit(t.Context(), submission("t1", "hi"))
		if err != nil {
			t.Fatal(err)
		}
		began, done := time.Now(), make(chan struct{})
		go func() { // each step in a process of its own
			defer close(done)
			for n := 0; n < 2; {
				hint, ok := r.queue.Receive()
				if !ok {
					time.Sleep(time.Second)
					continue
				}
				if err := r.process(fmt.Sprint("a", n), r.store, words).WorkLocal(t.Context(), hint); err != nil {
					t.Error(err)
				}
				n++
			}
		}()
		got := timed{began: began}
		if err := b.Follow(t.Context(), local, receipt.RunID, host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		<-done
		second := ""
		for _, line := range got.lines {
			if strings.Contains(line, "text_delta second") {
				second = line
				break
			}
		}
		at, _, _ := strings.Cut(second, " ")
		if when, err := time.ParseDuration(at); err != nil || when > 9*time.Second {
			t.Errorf("the second turn begins at 7.7s and is heard by %q, want it by 9s:\n%s", second, strings.Join(got.lines, "\n"))
		}
	})
}

// Nor need the next step of a run that a request streams, in the process of the first.
func TestTheNextStepOfAStreamIsHeardFromItsFirstWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		words := func(c *host.Options) { c.Agents.Models["m"] = binding(talks{r, 10}) }
		began, done := time.Now(), make(chan struct{})
		id := r.starts(r.process("a", r.store, words), true, done)
		got := timed{began: began}
		if err := r.process("b", r.store, words).Follow(t.Context(), local, id, host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		<-done
		second := slices.IndexFunc(got.lines, func(line string) bool { return strings.Contains(line, "text_delta second") })
		if second < 0 {
			t.Fatalf("the second turn is not heard:\n%s", strings.Join(got.lines, "\n"))
		}
		at, _, _ := strings.Cut(got.lines[second], " ")
		if when, err := time.ParseDuration(at); err != nil || when > 8500*time.Millisecond {
			t.Errorf("the second turn begins at 7s and is heard by %s, want it by 8.5s:\n%s", at, strings.Join(got.lines, "\n"))
		}
	})
}

// A hint says nothing of another run's followers.
func TestAHintOfAnotherRunDoesNotMakeChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("a", r.store, drawls(5, ""))
		receipt, err := process.Submit(t.Context(), submission("t1", "hi"))
		if err != nil {
			t.Fatal(err)
		}
		hint, ok := r.queue.Receive()
		if !ok || hint.Dispatch != receipt.DispatchID {
			t.Fatalf("the hint is %+v", hint)
		}
		hint.Dispatch, hint.Followed = core.ID{9}, time.Now().Add(time.Minute).UnixMilli()
		if err := process.WorkLocal(t.Context(), hint); err != nil {
			t.Fatal(err)
		}
		if head := r.head(hint.Key()); head.Seq == 0 {
			t.Error("the hint has brought nobody to the run")
		}
		if chunks := r.records(hint.Key(), "E#"); len(chunks) > 0 {
			t.Errorf("%d chunks are stored, want none", len(chunks))
		}
	})
}

// talks is a model that says so many words, one every 700 ms, of which the last of the
// first turn is a call.
type talks struct {
	*rig
	words int
}

func (m talks) Stream(_ context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		word, end := "first ", model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}
		if len(request.Messages) > 1 {
			word, end.Stop = "second ", core.StopEndTurn
		}
		for range m.words {
			time.Sleep(700 * time.Millisecond)
			if !yield(model.Delta{Type: model.DeltaText, Text: word}, nil) {
				return
			}
		}
		if end.Stop == core.StopToolUse {
			_ = yield(model.Delta{Type: model.DeltaToolStart, CallID: "x", Name: "echo"}, nil) &&
				yield(model.Delta{Type: model.DeltaToolArgument, Text: `{"text":"a"}`}, nil)
		}
		yield(end, nil)
	}
}

// A mark of a clock that is an hour fast counts for a minute: who follows leaves one that is
// right.
func TestAMarkOfAFastClockKeepsNobodyFromAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		words := drawls(200, "") // 140 s
		a, b := r.process("a", r.store, words), r.process("b", r.store, words)
		began, done := time.Now(), make(chan struct{})
		id := r.starts(a, false, done)
		time.Sleep(time.Second)
		key := core.ThreadKey{Tenant: "local", Thread: "t1"}
		wrong, err := live.Mark{Run: id, Until: began.Add(time.Hour).UnixMilli()}.Record(thread.Records{}, r.head(key))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.store.Put(t.Context(), key, wrong); err != nil {
			t.Fatal(err)
		}
		time.Sleep(89 * time.Second)
		got := timed{began: began}
		if err := b.Follow(t.Context(), local, id, host.ListenerFunc(got.sink)); err != nil {
			t.Fatal(err)
		}
		<-done
		if n := len(got.lines); n < 100 {
			t.Errorf("who comes at 90s is shown %d pieces of 200 words", n)
		}
	})
}

// Where the agent says what is stored, a mark would change nothing, and none is left.
func TestNoMarkIsLeftWhereTheAgentSaysWhatIsStored(t *testing.T) {
	for _, events := range []agent.EventMode{agent.EventsLive, agent.EventsCommits} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			a, b := r.process("a", r.store, drawls(20, events)), r.process("b", r.store, drawls(20, events))
			marks, done := r.marking(), make(chan struct{})
			id := r.starts(a, false, done)
			if err := b.Follow(t.Context(), local, id, host.ListenerFunc(func(core.Event) error { return nil })); err != nil {
				t.Fatal(err)
			}
			<-done
			if got := marks(); len(got) > 0 {
				t.Errorf("events %s: marks are left at %q", events, got)
			}
		})
	}
}
