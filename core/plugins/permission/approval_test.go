package permission_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/core/tool"
)

// A tool's own question is not answered by rules or by what they remember, nor theirs by it.
func TestAnApprovalIsAQuestionOfItsOwn(t *testing.T) {
	const allow, ask, deny = `{"default_behavior":"allow"}`, `{"default_behavior":"ask"}`, `{"rules":[{"tool":"pay","behavior":"deny"}]}`
	yesAllForGood := yesForGood
	yesAllForGood.RememberAs = core.RememberRule
	for _, tt := range []struct {
		name, rules string
		answers     []core.Decision
		end, next   string // of this call, and of the same one in the next run
	}{
		{"allowed by a rule", allow, []core.Decision{yes}, `natural_end`, "suspended; asks pay {}"},
		{"allowed by a rule, remembered", allow, []core.Decision{yesForGood}, `natural_end`, "natural_end"},
		{"asked twice, remembered once", ask, []core.Decision{yesForGood, yes}, `natural_end`, "suspended; asks pay {}"},
		{"asked twice, remembered twice", ask, []core.Decision{yesAllForGood, yesAllForGood}, `natural_end`, "natural_end"},
		{"denied, remembered", allow, []core.Decision{noForGood}, `natural_end`, "natural_end"},
		{"denied by a rule", deny, nil, `blocked; permission denied for the tool pay: rule 0, pay, denies it`, `blocked; permission denied for the tool pay: rule 0, pay, denies it`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pay := toolFunc{tool.Spec{Name: "pay", Approval: "Pay the bill?"}, func(tool.Call) (tool.Result, error) { return tool.NewResult("paid"), nil }}
			w := newWorld(t, options{rules: tt.rules, tools: []tool.Tool{pay}})
			got := w.says("a", "pay {}")
			for i, d := range tt.answers {
				equal(t, "asked", w.result.Tickets[0].Suspension.Message, []string{"Pay the bill?", "May the agent use the tool pay?"}[i])
				got = w.decides(d)
			}
			equal(t, "ended", got, tt.end)
			equal(t, "next run", w.says("a", "pay {}"), tt.next)
		})
	}
}

func TestForgetTakesBackApprovals(t *testing.T) {
	pay := toolFunc{tool.Spec{Name: "pay", Approval: "Pay the bill?"}, func(tool.Call) (tool.Result, error) { return tool.NewResult("paid"), nil }}
	forget := noting("forget", func(tool.Call) (tool.Result, error) { return tool.NewResult("done").With(permission.Forget()), nil })
	w := newWorld(t, options{rules: `{"default_behavior":"allow"}`, tools: []tool.Tool{pay, forget}})
	w.says("a", "pay {}")
	w.decides(yesForGood)
	equal(t, "remembered", w.says("a", "pay {}"), "natural_end")
	equal(t, "of another agent", w.says("b", "pay {}"), "suspended; asks pay {}")
	w.decides(no)
	w.says("a", "forget {}")
	equal(t, "forgotten", w.says("a", "pay {}"), "suspended; asks pay {}")
}
