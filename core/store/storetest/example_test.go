package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// A backend's own test is three lines.
func ExampleOptions() {
	_ = func(t *testing.T) { // func TestContract(t *testing.T)
		storetest.Options{}.Run(t, func(t *testing.T) store.Backend { return memory.New() })
	}
}

// A hundred histories take a second of a backend in memory.
func ExampleOptions_Linearizable() {
	_ = func(t *testing.T) { // func TestHistoriesAreLinearizable(t *testing.T)
		storetest.Options{}.Linearizable(t, func(t *testing.T) store.Backend { return memory.New() }, 100)
	}
}

// A backend that indexes due times by the minute and whose lists lag says so. One without
// transactions says how the suite can stop a Commit on its way.
func ExampleOptions_Run() {
	_ = func(t *testing.T) { // func TestContract(t *testing.T)
		options := storetest.Options{
			DueRounding: time.Minute,
			MaxPayload:  350 << 10,
			Eventually: func(check func() error) error {
				var err error
				for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
					if err = check(); err == nil {
						return nil
					}
				}
				return errors.Join(errors.New("still not so after 10 s"), err)
			},
			Stop: func(ctx context.Context, writes int) context.Context {
				return stop(ctx, writes) // the backend's transport counts them
			},
		}
		options.Run(t, func(t *testing.T) store.Backend { return memory.New() })
	}
}

// The first commit is applied and its response is lost: the writer must find out.
func ExampleFaulty() {
	commits := 0
	backend := &storetest.Faulty{Backend: memory.New()}
	backend.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		err := do(ctx)
		if op.Method == "Commit" {
			if commits++; commits == 1 {
				return errors.New("connection reset by peer")
			}
		}
		return err
	}
	ctx, key := context.Background(), core.ThreadKey{Tenant: "acme", Thread: "t1"}
	_, err := backend.Commit(ctx, key, store.Commit{Head: thread.Head{Version: 1}})
	fmt.Println(err)
	head, err := backend.Head(ctx, key)
	fmt.Println(head.Version, err)
	// Output:
	// connection reset by peer
	// 1 <nil>
}
