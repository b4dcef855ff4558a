//go:build aws

package deployed

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// A worker that is killed takes its wake-up along, which the queue hides for an hour here. The
// second one comes within two leases and takes the run over; no sweep runs.
func TestAKilledStepIsTakenOverByItsSecondHint(t *testing.T) {
	t.Parallel()
	bootstrap := build(t, "scripts/verify/deployed/step", "killpoints")
	for _, at := range []string{atModel + ".after", atTool + ".before"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := newWorldWith(t, 2*time.Second)
			_, queues := clients(t)
			if _, err := queues.SetQueueAttributes(t.Context(), &awssqs.SetQueueAttributesInput{
				QueueUrl: aws.String(w.queueURL), Attributes: map[string]string{"VisibilityTimeout": "3600"},
			}); err != nil {
				t.Fatal(err)
			}
			marker := filepath.Join(t.TempDir(), "killed")
			w.run(t, w.function("step", bootstrap, 30*time.Second, "REVEILLE_LEASE=2s",
				"REVEILLE_KILL_AT="+at, "REVEILLE_KILL_COUNT=1", "REVEILLE_KILL_ONCE="+marker))
			w.submit(t, "t1", "parallel: a, b")
			p := host.Poller{Host: w.host, Queue: transport{w.queue}, Function: "step", BatchSize: 1, Wait: time.Second}
			for killed := false; !killed; {
				if _, err := p.Poll(t.Context()); err != nil {
					t.Fatal(err)
				}
				_, err := os.Stat(marker)
				killed = err == nil
			}
			began := time.Now()
			w.finish(t, "t1")
			if took := time.Since(began); took > 20*time.Second { // two leases, and a slow machine
				t.Errorf("the run continues after %s", took)
			}
			want := []string{"user: parallel: a, b", "assistant: ", `tool: {"text":"a"}`, `tool: {"text":"b"}`, "assistant: Echo: a, b"}
			if diff := cmp.Diff(want, w.messages(t, "t1")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
