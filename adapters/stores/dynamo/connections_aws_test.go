//go:build aws

package dynamo_test

import (
	"net/http/httptrace"
	"testing"

	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/core"
)

// TestAConnectionIsUsedAgain: the store reads responses to their end, and the server of these
// tests leaves connections open.
func TestAConnectionIsUsedAgain(t *testing.T) {
	c, table := client(t)
	s := dynamo.New(c, dynamo.Options{Table: table, ConfigTable: configTable(t, c)})
	made := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if !i.Reused {
			made++
		}
	}})
	for range 5 {
		if _, err := s.Head(ctx, core.ThreadKey{Tenant: "acme", Thread: "t1"}); err != nil {
			t.Fatal(err)
		}
	}
	if made > 1 {
		t.Errorf("5 reads made %d connections, want 1 at most", made)
	}
}
