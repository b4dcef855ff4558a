//go:build aws

package deployed

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/scripts/verify/deployed/cost"
	"github.com/reveille-run/reveille/scripts/verify/deployed/wire"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// ownReceipt is that of a message which is not in the queue.
const ownReceipt = "own"

// hint hands a hint of a thread to Step, as the queue would.
func (k *bookkeeper) hint(t *testing.T, thread string) {
	t.Helper()
	body, err := json.Marshal(core.WakeUp{Tenant: key(thread).Tenant, Thread: thread})
	if err != nil {
		t.Fatal(err)
	}
	k.queue.next = []host.Message{{ID: ownReceipt, Receipt: ownReceipt, Body: string(body)}}
	k.poll(t)
}

// slept measures runs of a call that waits for a time: the step that ends with it, a hint that
// comes too early, and the step that the hint of its time begins.
func (k *bookkeeper) slept(t *testing.T, f *cost.Figures) {
	const thread = "t5"
	all := map[string][]cost.Work{}
	for i := range cost.Runs + 1 {
		k.measure(t, func() { // it is over when that of the wait begins
			k.sayTo(t, wire.Sleeper, k.door(t, "RestApi"), thread) // the other API does not have the agent
			k.settled(t)
		})
		wait := k.measure(t, func() { k.poll(t) })
		began := time.Now()
		early := k.measure(t, func() { k.hint(t, thread) })
		if h := k.head(t, thread); len(h.Tickets) != 1 || h.Tickets[0].Decision != 0 {
			t.Fatalf("the call does not wait: %+v", h)
		}
		wake := k.measure(t, func() { k.poll(t) })
		if slept := time.Since(began); slept < (sleepSeconds-1)*time.Second {
			t.Fatalf("the call was woken after %s", slept)
		}
		k.poll(t)
		if h := k.head(t, thread); h.Open() || h.Ready() {
			t.Fatalf("the run is not done: %+v", h)
		}
		if i > 0 { // the agent is new to the process
			all[cost.Wait], all[cost.Early], all[cost.Wake] = append(all[cost.Wait], wait), append(all[cost.Early], early), append(all[cost.Wake], wake)
		}
	}
	for name, w := range all {
		f.Work[name] = median(w)
	}
}
