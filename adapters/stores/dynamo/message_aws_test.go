//go:build aws

package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// otherThread receives messages.
var otherThread = core.ThreadKey{Tenant: "acme", Thread: "t2"}

// messageBudget is what a message may cost in addition to the step that sends it: its record and
// the sender's head, then the pointer, the input and the head of the receiver, and the sender's
// head once more.
var messageBudget = budget{write: 7, read: 8, rounds: 15}

// sendOften meters steps with a call that returns 2 KB, on a thread that holds so many messages,
// and the same steps where the call sends a message, too, to a thread without an open run.
func sendOften(t testing.TB, history int) (plain, sends cost) {
	t.Helper()
	b := longThread(t, chatter{calls: first(1), text: 500}, func(t testing.TB, b *bench) {
		b.submit(t, history)
		b.step(t)
		b.step(t)
	})
	b.send(t, mailbox.Submission{Thread: otherThread, Messages: []core.Message{core.UserMessage("hello")}})
	b.step(t)
	b.step(t)
	var all [2][]cost
	for i := range meteredSteps + 1 {
		for which := range all {
			b.writes = which == 1
			b.submit(t, 1)
			if c := b.measure(func() { b.step(t) }); i > 0 { // the first step is a cold one
				all[which] = append(all[which], c)
			}
			b.writes = false
			for b.waiting() { // the text that ends the run, and the run of the other thread
				b.step(t)
			}
		}
	}
	return mean(all[0]), mean(all[1])
}

// TestMessageBudget checks what a message may cost, from the call that sends it until it is the
// input of a run, and the note of that.
func TestMessageBudget(t *testing.T) {
	var all []cost
	for _, history := range histories() {
		plain, sends := sendOften(t, history)
		more := cost{Units: sends.Units, Rounds: sends.Rounds - plain.Rounds, Kinds: sends.Kinds}
		more.Write -= plain.Write
		more.Read -= plain.Read
		if listed := (sends.Kinds["listing"].Write - plain.Kinds["listing"].Write) / meteredSteps; listed != 2 {
			t.Errorf("the lists of a message's run cost %g write units, want 2", listed)
		}
		messageBudget.hold(t, fmt.Sprintf("a message at %d messages", history), more)
		all = append(all, more)
	}
	if all[0].Write != all[1].Write || all[0].Read != all[1].Read {
		t.Errorf("a message costs %+v at %d messages and %+v at %d", all[0], histories()[0], all[1], histories()[1])
	}
}
