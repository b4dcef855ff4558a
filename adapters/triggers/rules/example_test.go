package rules_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/adapters/triggers/rules"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// printer is a runtime that shows what is submitted to it.
type printer struct{}

func (printer) HasAgent(id string) bool { return id == "clerk" }
func (printer) DefaultAgent() string    { return "clerk" }
func (printer) Submit(_ context.Context, s mailbox.Submission) (mailbox.Receipt, error) {
	fmt.Printf("%s on %s: %s\n", s.Opening.AgentID, s.Thread, s.Messages[0].Text())
	return mailbox.Receipt{ThreadID: s.Thread.Thread, RunID: core.ID{1}}, nil
}

// A trigger starts a run for each event that its filter wants.
func Example() {
	set, err := rules.New(`{"triggers": [{
		"name": "orders", "source": "eventbridge", "tenant": "acme",
		"filter": {"detail": {"total": [{"numeric": [">=", 100]}]}},
		"thread": "customer-{{.detail.customer}}",
		"prompt": "Order {{.detail.order}} is worth {{.detail.total}}."
	}]}`, rules.Options{Runtime: printer{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, detail := range []string{`{"order":"o-1","customer":"c-17","total":129.5}`, `{"order":"o-2","customer":"c-18","total":12}`} {
		started, err := set.Fire(context.Background(), incoming.Event{
			Source: incoming.EventBridge, ID: "e1", Data: json.RawMessage(`{"detail":` + detail + `}`),
		})
		fmt.Println(len(started), err)
	}
	// Output:
	// clerk on acme/customer-c-17: Order o-1 is worth 129.5.
	// 1 <nil>
	// 0 <nil>
}
