//go:build aws

package dynamo_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/dynamo/dynamotest"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// The cost of limits: functions/guides/usage-and-limits.md has this table. Each call is one request, and one more
// unit for about seven runs more of the tenant that are under way at the same time.
func TestWhatLimitsCost(t *testing.T) {
	maker, table := client(t)
	config := configTable(t, maker)
	meter := &dynamotest.Meter{Next: http.DefaultTransport}
	c, err := dynamo.NewClient(awsenv.Config{Transport: meter, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s := dynamo.New(c, dynamo.Options{Table: table, ConfigTable: config})
	run := func(n int) core.ID { return core.ID{0: 1, 15: byte(n)} }
	slot := store.Slot{Thread: "0199c1f0-7a3e-7c2b-9d41-6f0f6a1b2c3d", Since: 1795305600000, Key: "0123456789abcdef0123456789abcdef"}
	admit := func(n int) error {
		_, _, err := s.Admit(t.Context(), "acme", store.Admitting{
			Day: 20779, Run: run(n), Slot: slot, MaxRuns: 1000, MaxTokens: 1e9, MaxSpend: core.USD(1e9), MaxSlots: 64,
		})
		return err
	}
	if err := admit(0); err != nil { // makes the item
		t.Fatal(err)
	}
	costs := func(what string, others int, write, read float64, do func() error) {
		t.Helper()
		meter.Reset()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if got := meter.Total(); got.Write != write || got.Read != read || got.Calls != 1 {
			t.Errorf("%s beside %d other runs: %s, want %v write and %v read units in one call", what, others, fmt.Sprintf("%+v", got), write, read)
		}
	}
	for _, tt := range []struct {
		others      int
		write, read float64
	}{{1, 1, 1}, {63, 10, 3}} {
		for n := 1; n < tt.others; n++ {
			if err := admit(n); err != nil {
				t.Fatal(err)
			}
		}
		costs("admission", tt.others, tt.write, 0, func() error { return admit(100) })
		costs("look", tt.others, 0, tt.read, func() error { _, err := s.Admission(t.Context(), "acme", 20779); return err })
		charged := slot
		charged.Tokens, charged.Spend = 1234, 5678
		costs("charge", tt.others, tt.write, 0, func() error {
			_, _, err := s.Charge(t.Context(), "acme", store.Use{Day: 20779, Run: run(100), Slot: slot, Tokens: 1234, Spend: 5678})
			return err
		})
		costs("release", tt.others, tt.write, 0, func() error {
			_, err := s.Release(t.Context(), "acme", store.Use{Day: 20779, Run: run(100), Slot: charged})
			return err
		})
	}
}
