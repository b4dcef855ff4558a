package tool_test

import (
	"testing"

	"github.com/reveille-run/reveille/core/tool"
)

func TestKeySaysThatItWasRead(t *testing.T) {
	reads := 0
	call := tool.Call{Idempotency: "run/2/0", KeyRead: func() { reads++ }}
	if got := call.Key(); got != "run/2/0" || reads != 1 {
		t.Errorf("key %q, read %d times; want run/2/0, once", got, reads)
	}
	_ = call.NewID("order") // which is made of it
	if reads != 2 {
		t.Errorf("the key was read %d times, want 2", reads)
	}
	if got := (tool.Call{Idempotency: "k"}).Key(); got != "k" {
		t.Errorf("key %q, want k", got)
	}
}
