package storetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// A backend's own test is three lines.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestContract(t *testing.T)
		storetest.Run(t, func(t *testing.T) store.Backend { return memory.New() })
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
