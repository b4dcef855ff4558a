package timer_test

import (
	"context"
	"fmt"
	"log"

	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugins/timer"
	"github.com/reveille-run/reveille/core/reveille"
)

// An agent that may wait for a day at most. Run returns when the wait is over, too.
func Example() {
	r, err := reveille.New(reveille.Parts{
		Specs: []reveille.AgentSpec{{
			ID: "watch", Model: "scripted", Plugins: []string{timer.ID},
			Sections: reveille.Sections(timer.Section.Setting(timer.Config{MaxWaitSeconds: 86_400})),
		}},
		Models:  reveille.Models{"scripted": {Model: scripted.Rules()}},
		Plugins: []reveille.Plugin{timer.Plugin{}},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	done, err := r.Run(context.Background(), reveille.Input{Text: `call: wait_until {"seconds":0.01,"note":"look again"}`})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range done.Messages {
		if m.ToolResult != nil {
			fmt.Println(m.ToolResult.Text())
		}
	}
	// Output: {"woken":"time","note":"look again"}
}
