package background_test

import (
	"context"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugins/background"
	"github.com/reveille-run/reveille/core/reveille"
)

// An agent that starts another one and does not wait for it.
func Example() {
	r, err := reveille.New(reveille.Parts{
		Specs: []reveille.AgentSpec{
			{
				ID: "lead", Model: "scripted", Plugins: []string{background.ID},
				Sections: reveille.Sections(background.Section.Setting(background.Config{Agents: []string{"helper"}})),
			},
			{ID: "helper", Model: "scripted"},
		},
		Models:  reveille.Models{"scripted": {Model: scripted.Rules()}},
		Plugins: []reveille.Plugin{background.Plugin{}},
		Default: "lead",
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	done, err := r.Run(context.Background(), reveille.Input{Text: `call: start_agent {"agent_id":"poet","prompt":"a rhyme"}`})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range done.Messages {
		if m.ToolResult != nil {
			fmt.Println(m.ToolResult.Text())
		}
	}
	// Output: agent "poet" cannot be started, allowed are: helper
}
