package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store/memory"
)

// within is how long a client may wait for what was said, from when it was said or from
// when the client came back.
const within = 2 * time.Second

// late fails the test when what a client was shown since it came back came late.
// produced says when each byte was said, as in the unbroken stream.
func late(t *testing.T, what string, got, unbroken *story, began, first, back time.Time) {
	t.Helper()
	for i, at := range got.at {
		said := began.Add(unbroken.at[min(i, len(unbroken.at)-1)].Sub(first))
		if at.Before(back) {
			continue
		}
		if said.Before(back) {
			said = back
		}
		if wait := at.Sub(said); wait > within {
			t.Fatalf("%s: byte %d of %q comes after %s, want at most 2 s", what, i, got.text.String(), wait)
		}
	}
}

// theStory is what a client of the native stream has of teller's run.
const theStory = "\nreasoning: hm, well\ntext: So é€ and \"q\" then" +
	"\ncall c1: {\"text\":\"x\"}\nready c1: {\"text\":\"x\"}\nresult c1: {\"text\":\"x\"}" +
	"\ntext: One two three four five.\nend: One two three four five."

// post asks for a run on a thread of its own, and again where it was asked for before.
func post(t *testing.T, h http.Handler, limit, thread int) (w *wire, wait func()) {
	t.Helper()
	body := fmt.Sprintf(`{"threadId":"t%05d","messages":[{"role":"user","content":"hi"}]}`, thread)
	return connect(t, h, limit, "POST", "/v1/runs", body, "Idempotency-Key", fmt.Sprint("k", thread))
}

// resumed is what a client of the native stream reads that comes back: behind the last
// event that it has, and without any by asking again.
func resumed(t *testing.T, h http.Handler, thread int, had []frame) []frame {
	t.Helper()
	last := ""
	for _, f := range had {
		if f.id != "" {
			last = f.id
		}
	}
	var w *wire
	var wait func()
	if run, _, _ := strings.Cut(last, "."); last == "" {
		w, wait = post(t, h, 0, thread)
	} else {
		w, wait = connect(t, h, 0, "GET", "/v1/runs/"+run+"/events/stream", "", "Last-Event-ID", last)
	}
	wait()
	if w.status != http.StatusOK && w.status != http.StatusNoContent {
		t.Fatalf("resume behind %q: status %d, %s", last, w.status, w.body)
	}
	return w.frames
}

// Wherever the connection to one host breaks, a client that comes back to another one
// has the same as if it had not, while the first host still infers, and has it at most
// two seconds after it was said.
func TestADroppedNativeStreamGoesOnAtAnotherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &hosts{t: t, store: memory.New(), queue: &mailboxtest.Queue{}}
		a, b := all.start("a"), all.start("b")
		first := time.Now()
		w, wait := post(t, a, 0, 0)
		wait()
		var unbroken story
		unbroken.native(t, w.frames)
		if got := unbroken.text.String(); got != theStory || !unbroken.ended {
			t.Fatalf("the unbroken stream says %q", got)
		}
		offset := 1
		for ; ; offset += everyOffset() {
			var got story
			began := time.Now()
			w, wait := post(t, a, offset, offset)
			back := time.Now()
			restarts := got.native(t, w.frames)
			if len(w.body) < offset { // the stream has no such byte
				break
			}
			restarts += got.native(t, resumed(t, b, offset, w.frames))
			wait()
			if got.text.String() != theStory || !got.ended || restarts > 0 {
				t.Fatalf("byte %d: ended %t, %d restarts, %q", offset, got.ended, restarts, got.text.String())
			}
			late(t, fmt.Sprint("byte ", offset), &got, &unbroken, began, first, back)
		}
		if offset < 4000 {
			t.Errorf("the stream was dropped at %d bytes, it has more than 4,000", offset)
		}
	})
}

// The AI SDK's client has a message replayed from its first chunk, under the same id.
func TestADroppedAISDKStreamGoesOnAtAnotherHost(t *testing.T) {
	const want = "\nreasoning: hm, well\ntext: So é€ and \"q\" then" +
		"\ncall: {\"text\":\"x\"}\nready: {\"text\":\"x\"}\nresult: {\"text\":\"x\"}" +
		"\ntext: One two three four five.\nend: stop"
	synctest.Test(t, func(t *testing.T) {
		all := &hosts{t: t, store: memory.New(), queue: &mailboxtest.Queue{}}
		a, b := all.start("a"), all.start("b")
		ask := func(limit, thread int) (*wire, func()) {
			body := fmt.Sprintf(`{"id":"t%05d","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}]}`, thread)
			return connect(t, a, limit, "POST", "/v1/ai-sdk/chat", body)
		}
		first := time.Now()
		w, wait := ask(0, 0)
		wait()
		var unbroken story
		unbroken.ui(t, w.frames)
		if got := unbroken.text.String(); got != want || !unbroken.ended {
			t.Fatalf("the unbroken stream says %q", got)
		}
		offset, over := 1, 0
		for ; ; offset += everyOffset() {
			var had, got story
			began := time.Now()
			w, wait := ask(offset, offset)
			back := time.Now()
			had.ui(t, w.frames)
			if len(w.body) < offset { // the stream has no such byte
				break
			}
			if !strings.HasPrefix(want, had.text.String()) {
				t.Fatalf("byte %d: the client has %q", offset, had.text.String())
			}
			path := fmt.Sprintf("/v1/ai-sdk/chat/t%05d/stream", offset)
			w, waitB := connect(t, b, 0, "GET", path, "")
			waitB()
			wait()
			if w.status == http.StatusNoContent { // the run is over: the history has it
				over++
				path = fmt.Sprintf("/v1/ai-sdk/threads/t%05d/messages", offset)
				if body := do(b, "GET", path, "").Body.String(); !strings.Contains(body, `"text":"One two three four five."`) {
					t.Fatalf("byte %d: the history is %s", offset, body)
				}
				continue
			}
			got.ui(t, w.frames)
			if got.text.String() != want || !got.ended || had.id != "" && had.id != got.id {
				t.Fatalf("byte %d: ended %t, message %s after %s, %q", offset, got.ended, got.id, had.id, got.text.String())
			}
			late(t, fmt.Sprint("byte ", offset), &got, &unbroken, began, first, back)
		}
		if offset < 1500 || over > 400 {
			t.Errorf("the stream was dropped at %d bytes, at %d of them when the run was over", offset, over)
		}
	})
}

// outlive lets a host die in the inference that it streams, so late that a client has
// some of it, and another one take the run over when the lease is over: by its sweep.
func outlive(t *testing.T, queue *mailboxtest.Queue, a, b *machine) (worked func()) {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		time.Sleep(1600 * time.Millisecond)
		a.die()
		time.Sleep(40 * time.Second)
		if _, err := b.runtime.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
		for range 20 {
			for hint, ok := queue.Receive(); ok; hint, ok = queue.Receive() {
				if err := b.runtime.WorkLocal(t.Context(), hint); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Second)
		}
	}()
	return func() { <-over }
}

// A host that dies while its model speaks takes what was said with it. A client of
// another host that has some of that is told so, and has the step once.
func TestAStepOfADeadHostIsShownAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &hosts{t: t, store: memory.New(), queue: &mailboxtest.Queue{}}
		a, b := all.start("a"), all.start("b")
		worked := outlive(t, all.queue, a, b)
		ask := make(chan struct{})
		go func() { // its client hears no more of it either
			defer close(ask)
			_, wait := post(t, a, 900, 1)
			wait()
		}()
		time.Sleep(300 * time.Millisecond)
		var got story
		w, wait := post(t, b, 0, 1)
		wait()
		began := w.frames
		if restarts := got.native(t, began); restarts != 1 || got.text.String() != theStory || !got.ended {
			t.Errorf("%d restarts, ended %t, %q\n%s", restarts, got.ended, got.text.String(), w.body)
		}
		for _, f := range began {
			if strings.Contains(f.data, "step_restarted") && !strings.HasSuffix(f.id, ".1.0.0-0-c") {
				t.Errorf("step_restarted has the id %s", f.id)
			}
		}
		worked()
		<-ask
	})
}

// The AI SDK's client cannot take back what it has of a message: its stream ends, and
// the one that it resumes has the step once.
func TestAStepOfADeadHostIsReplayedToTheAISDK(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &hosts{t: t, store: memory.New(), queue: &mailboxtest.Queue{}}
		a, b := all.start("a"), all.start("b")
		worked := outlive(t, all.queue, a, b)
		ask := make(chan struct{})
		go func() {
			defer close(ask)
			_, wait := connect(t, a, 700, "POST", "/v1/ai-sdk/chat", `{"id":"t1","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"}]}]}`)
			wait()
		}()
		time.Sleep(300 * time.Millisecond)
		var had, got story
		w, wait := connect(t, b, 0, "GET", "/v1/ai-sdk/chat/t1/stream", "")
		wait()
		had.ui(t, w.frames)
		if want := "\nreasoning: hm, well\ntext: So é\nend: error"; had.text.String() != want {
			t.Errorf("until the host dies: %q, want %q", had.text.String(), want)
		}
		w, wait = connect(t, b, 0, "GET", "/v1/ai-sdk/chat/t1/stream", "")
		wait()
		got.ui(t, w.frames)
		const want = "\nreasoning: hm, well\ntext: So é€ and \"q\" then" +
			"\ncall: {\"text\":\"x\"}\nready: {\"text\":\"x\"}\nresult: {\"text\":\"x\"}" +
			"\ntext: One two three four five.\nend: stop"
		if got.text.String() != want || had.id != got.id {
			t.Errorf("message %s after %s: %q", got.id, had.id, got.text.String())
		}
		worked()
		<-ask
	})
}
