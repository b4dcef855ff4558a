package reveille_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
)

// outside is what the tools of the support agent use.
type outside struct {
	orders string // base URL
	bank   interface {
		Refund(ctx context.Context, key, order string, amount float64) error
	}
}

type orderArgs struct {
	Order string `json:"order" jsonschema:"order number, such as A-17"`
}

// Check says what the schema cannot.
func (a orderArgs) Check() error {
	if !strings.HasPrefix(a.Order, "A-") {
		return reveille.InvalidArgument("order", "%q is no order number", a.Order)
	}
	return nil
}

func (o outside) lookup(ctx context.Context, _ reveille.Call, a orderArgs) (reveille.ToolResult, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", o.orders+"/orders/"+url.PathEscape(a.Order), http.NoBody)
	if err != nil {
		return reveille.ToolResult{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return reveille.ToolResult{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch {
	case err != nil:
		return reveille.ToolResult{}, err
	case resp.StatusCode == http.StatusNotFound:
		return reveille.Failed("no such order"), nil
	case resp.StatusCode != http.StatusOK:
		return reveille.Failed("the order service said " + resp.Status), nil
	}
	return reveille.NewResult(json.RawMessage(body)), nil
}

type refundArgs struct {
	Order  string  `json:"order"`
	Amount float64 `json:"amount"`
}

func (o outside) refund(ctx context.Context, call reveille.Call, a refundArgs) (string, error) {
	if err := o.bank.Refund(ctx, call.Key(), a.Order, a.Amount); err != nil {
		return "", err
	}
	return fmt.Sprintf("refunded %.2f for %s", a.Amount, a.Order), nil
}

// export takes its time: three parts, each of which Once keeps.
func export(ctx context.Context, call reveille.Call, _ struct{}) (map[string]int, error) {
	parts, total := []string{"orders", "tickets", "invoices"}, 0
	for i, part := range parts {
		call.Progress(float64(i), float64(len(parts)), part)
		raw, err := call.Once(ctx, part, func(context.Context) (json.RawMessage, error) { return json.Marshal(len(part)) })
		if err != nil {
			return nil, err
		}
		var rows int
		if err := json.Unmarshal(raw, &rows); err != nil {
			return nil, err
		}
		total += rows
	}
	return map[string]int{"rows": total}, nil
}

type shot struct {
	Reason string `json:"reason" jsonschema:"why it is needed"`
}

var (
	questions = reveille.Counter("questions", reveille.ScopeThread)
	names     = reveille.ProfileKey[string]{Name: "customer"}
)

// desk counts a customer's questions, and tells the model of them and of the name.
var desk = reveille.NewPlugin("desk", func(r *reveille.Registrar) error {
	r.Key(questions)
	r.OnRunStart(func(context.Context, reveille.RunStart) (reveille.Command, error) { return questions.Update(1), nil })
	r.OnBeforeInference(func(ctx context.Context, c reveille.BeforeInference) (reveille.Command, error) {
		n, err := questions.Read(c.Snapshot)
		if err != nil {
			return reveille.Command{}, err
		}
		text := fmt.Sprintf("The customer has asked %d times.", n)
		if c.User != "" {
			name, err := names.Read(ctx, c.Profiles, c.User)
			if err != nil {
				return reveille.Command{}, err
			}
			text += " Name: " + name
		}
		return reveille.AddContextMessage.Schedule(reveille.ContextMessage{Key: "desk", Text: text}), nil
	})
	return nil
})

// careful stops a run that asks for a third refund.
func careful(v reveille.StopView) *reveille.Termination {
	n := 0
	for _, m := range append(v.Turns[:len(v.Turns):len(v.Turns)], v.Turn) {
		for _, c := range m.ToolCalls {
			if c.Name == "refund" {
				n++
			}
		}
	}
	if n < 3 {
		return nil
	}
	return reveille.Stop("too_many_refunds", "a person has to look at this")
}

// support returns the parts of the support agent.
func support(models reveille.Models, o outside) reveille.Parts {
	return reveille.Parts{
		Specs: []reveille.AgentSpec{{
			ID: "support", Model: "default", SystemPrompt: "You help customers.", Plugins: []string{"desk", "permission"},
			Sections: reveille.Sections(reveille.Permit(reveille.Permissions{
				DefaultBehavior: reveille.RuleAllow, OnDeny: reveille.FailCall,
				Rules: []reveille.PermissionRule{{Tool: "lookup_order(order ~ 'A-secret*')", Behavior: reveille.RuleDeny}},
			})),
		}},
		Models: models,
		Tools: []reveille.Tool{
			reveille.NewTool(reveille.ToolSpec{Name: "lookup_order", Description: "Looks an order up.", Timeout: 5 * time.Second, ReadOnly: true}, o.lookup),
			reveille.NewTool(reveille.ToolSpec{Name: "refund", Description: "Refunds an order.", Approval: "May the agent refund?"}, o.refund),
			reveille.NewTool(reveille.ToolSpec{Name: "export_history", Description: "Exports a customer's history.", ReadOnly: true}, export),
			reveille.NewClientTool[shot](reveille.ToolSpec{Name: "screenshot", Description: "Takes a screenshot in the customer's browser."}),
		},
		Plugins: []reveille.Plugin{desk, reveille.PermissionPlugin()},
		Stops:   []reveille.StopPolicy{reveille.StopFunc(careful)},
	}
}

// ledger is a bank that notes what was refunded.
type ledger map[string]float64

func (l ledger) Refund(_ context.Context, key, _ string, amount float64) error {
	l[key] = amount
	return nil
}

// A support agent: tools that read, act, take their time and run at the client, state, a
// profile, permission rules, an approval and a stop policy.
func Example_support() {
	orders := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"order":%q,"paid":5}`, strings.TrimPrefix(r.URL.Path, "/orders/"))
	}))
	defer orders.Close()
	turn := func(name string, args any) reveilletest.Turn {
		return reveilletest.Turn{Calls: []reveille.ToolCall{reveilletest.Call(name, args)}}
	}
	m := reveilletest.Script(
		turn("lookup_order", orderArgs{"17"}), turn("lookup_order", orderArgs{"A-secret"}), turn("lookup_order", orderArgs{"A-17"}), turn("export_history", nil),
		turn("refund", refundArgs{"A-17", 5}), turn("screenshot", shot{"to see it"}), reveilletest.Turn{Text: "Done."},
	)
	bank := ledger{}
	r, err := reveille.New(support(reveille.Models{"default": {Model: m}}, outside{orders.URL, bank}), nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	result, err := r.Run(ctx, reveille.Input{Text: "my money, please"})
	for err == nil && len(result.Tickets) > 0 {
		ticket, decision := result.Tickets[0], reveille.Approve(result.Tickets[0])
		if ticket.Tool == "screenshot" {
			decision = reveille.Reply(ticket, json.RawMessage(`"a picture"`))
		}
		if err = r.Decide(ctx, result.Run.ID, decision); err == nil {
			result, err = r.Wait(ctx, result.Run.ID)
		}
	}
	for _, m := range result.Messages {
		if m.ToolResult != nil {
			fmt.Println(m.ToolResult.Status, m.ToolResult.Text())
		}
	}
	n, _ := questions.Read(result.State)
	fmt.Println(result.Text, len(bank), "refund,", n, "question", err)
	// Output:
	// invalid invalid arguments: property "order": "17" is no order number
	// denied denied: rule 0, lookup_order(order ~ "A-secret*"), denies it
	// ok {"order":"A-17","paid":5}
	// ok {"rows":21}
	// ok "refunded 5.00 for A-17"
	// set "a picture"
	// Done. 1 refund, 1 question <nil>
}
