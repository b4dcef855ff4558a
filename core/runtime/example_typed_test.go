package runtime_test

import (
	"context"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/runtime"
)

// An answer that a program reads: the model is asked for it, and again while it is not
// of the form. The scripted model does what the text says.
func ExampleRunTyped() {
	r, err := runtime.New(agent.Parts{Specs: []agent.Spec{{ID: "clerk", Model: "scripted"}}, Models: scriptedModel()})
	if err != nil {
		fmt.Println(err)
		return
	}
	type invoice struct {
		Number string  `json:"number" jsonschema:"as it is printed"`
		Total  float64 `json:"total"`
	}
	answer, _, err := runtime.RunTyped[invoice](context.Background(), r, mailbox.Submission{
		Messages: []core.Message{core.UserMessage(`call: final_answer {"number":"2026-17","total":99.5}`)}, Opening: mailbox.Opening{AgentID: "clerk"},
	})
	fmt.Println(answer.Number, answer.Total, err)
	// Output: 2026-17 99.5 <nil>
}
