//go:build aws

package deployed

import (
	"encoding/base64"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// stepUntil hands batches to the step function until something is so.
func (w *world) stepUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	p := host.Poller{Host: w.host, Queue: transport{w.queue}, Function: "step", Wait: time.Second}
	for range 30 {
		if _, err := p.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if is() {
			return
		}
	}
	t.Fatalf("it did not come to it that %s", what)
}

// loseHints takes off the queue what is on it and what comes later.
func (w *world) loseHints(t *testing.T) {
	t.Helper()
	_, queues := clients(t)
	if _, err := queues.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &w.queueURL}); err != nil {
		t.Fatal(err)
	}
	if w.anyLeft(t) {
		t.Fatal("the queue is not empty")
	}
}

// neglect makes the announcement that stands in a head one that was put off so long ago,
// and nobody was woken for.
func (w *world) neglect(t *testing.T, id string, ago time.Duration) {
	t.Helper()
	w.loseHints(t)
	h := w.head(t, id)
	if len(h.Outbox) != 1 || h.Open() {
		t.Fatalf("the head owes %+v, want the end of its run alone", h.Outbox)
	}
	w.lose(t, ago)
	h.Version++
	h.CommitID, h.DueAt = core.ID{0xcc}, time.Now().Add(-ago).UnixMilli()
	h.Outbox = slices.Clone(h.Outbox)
	h.Outbox[0].Tries, h.Outbox[0].Next = 1, h.DueAt
	if outcome, err := w.store.Commit(t.Context(), key(id), store.Commit{Head: h}); err != nil || !outcome.Written {
		t.Fatalf("outcome %+v, %v", outcome, err)
	}
}

// newTold is a deployment that tells a receiver what happens to runs. As in the template
// every function knows its address, and the step function alone the key.
func newTold(t *testing.T, triggers string) (w *world, to *receiver, api string) {
	t.Helper()
	w, to = newWorld(t), &receiver{}
	server := httptest.NewServer(to)
	t.Cleanup(server.Close)
	address := "REVEILLE_WEBHOOK_URL=" + server.URL + "/in?token=x"
	secret := "REVEILLE_WEBHOOK_SECRET=whsec_" + base64.StdEncoding.EncodeToString(receiverKey)
	trigger := w.triggered(t, triggers)
	trigger.Env = append(trigger.Env, address)
	w.run(t, trigger,
		w.function("step", build(t, "scripts/verify/deployed/step", "killpoints"), 30*time.Second, address, secret),
		w.function("api", build(t, "scripts/verify/deployed/api", ""), 30*time.Second, address),
		w.function("sweep", build(t, "functions/sweep", ""), 30*time.Second, address))
	return w, to, w.front(t, host.Front{Function: "api", Shape: host.ShapeHTTP})
}

// The receiver fails the first two tries of an end: the second is made under the queue's
// hint, the third, whose hint is lost, under the sweep's.
func TestAnEndIsToldOnceWhoseHintIsLost(t *testing.T) {
	t.Parallel()
	w, to, _ := newTold(t, "../../../events/triggers.json")
	w.submit(t, "t1", "hello")
	w.stepUntil(t, "the end was tried twice", func() bool { tries, _ := to.about(t, "t1"); return len(tries) >= 2 })
	to.check(t, "after two tries of the end", "t1", []int{1, 1})
	w.neglect(t, "t1", 4*time.Minute)
	if got := w.sweep(t); got != `{"woken":1}` {
		t.Errorf("the sweep returned %s", got)
	}
	w.stepUntil(t, "nothing is left to tell", func() bool { return len(w.head(t, "t1").Outbox) == 0 })
	const ended = "run.ended public/t1 demo, 1 steps, missed 0: natural_end"
	to.check(t, "after three tries of the end", "t1", []int{1, 1, 1}, ended)

	if got := w.sweep(t); got != `{"woken":0}` {
		t.Errorf("when all is told the sweep returned %s", got)
	}
	w.loseHints(t)
	if _, err := w.host.Invoke(t.Context(), "step", eventFor(t, core.WakeUp{Tenant: tenant, Thread: "t1", Sweep: true})); err != nil {
		t.Fatal(err)
	}
	to.check(t, "at last", "t1", []int{1, 1, 1}, ended)
}
