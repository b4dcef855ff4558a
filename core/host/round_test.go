package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/tool"
)

// A sequential round of 25 calls of 10 s each needs three invocations of 100 s, and
// the text after it a fourth. The call that an invocation's end cuts off runs again,
// no other does; and since each invocation makes progress, none counts against the
// run.
func TestARoundLongerThanAnInvocationGoesOnInTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		key := core.ThreadKey{Tenant: "acme", Thread: "t1"}
		begun, ended, attempts := map[string]int{}, map[string]int{}, uint8(0)
		slow := tool.New(tool.Spec{Name: "echo"}, func(ctx context.Context, _ tool.Call, a echoArguments) (tool.Result, error) {
			begun[a.Text]++
			attempts = max(attempts, r.head(key).Run.Attempts)
			select {
			case <-ctx.Done():
				return tool.Result{}, ctx.Err()
			case <-time.After(10 * time.Second):
			}
			ended[a.Text]++
			return tool.NewResult(map[string]string{"text": a.Text}), nil
		})
		process := r.process("w", r.store, func(c *host.Options) { c.Agents.Tools = []tool.Tool{slow} })
		var items, want []string
		for i := range 25 {
			item := fmt.Sprintf("i%d", i)
			items, want = append(items, item), append(want, fmt.Sprintf(`tool: {"text":"%s"}`, item))
		}
		submitAll(t, process, "parallel: "+strings.Join(items, ", "), key.Thread)
		var done []int // calls, after each invocation
		for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
			ctx, cancel := context.WithTimeout(t.Context(), 95*time.Second) // the handler keeps 5 s for itself
			if err := process.WorkBatch(ctx, []core.WakeUp{hint})[0]; err != nil {
				t.Fatal(err)
			}
			cancel()
			done = append(done, len(ended))
			attempts = max(attempts, r.head(key).Run.Attempts)
		}
		if diff := cmp.Diff([]int{9, 18, 25, 25}, done); diff != "" {
			t.Errorf("calls done after each invocation (-want +got):\n%s", diff)
		}
		if attempts > 1 {
			t.Errorf("the run came to %d attempts, want 1 at most", attempts)
		}
		for i, item := range items {
			again := 0
			if i == 9 || i == 18 {
				again = 1 // it was cut off
			}
			if begun[item] != 1+again || ended[item] != 1 {
				t.Errorf("call %d began %d times and ended %d times, want %d and 1", i, begun[item], ended[item], 1+again)
			}
		}
		said := transcript(t, process, key.Thread)
		if diff := cmp.Diff(want, said[2:len(said)-1]); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}
