package timer

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// ID is the plugin's, by which agents name it.
const ID = "timer"

// Tool is the name of the tool that waits.
const Tool = "wait_until"

// mostSeconds is the longest wait.
const mostSeconds = int64(core.MaxWait / time.Second)

// Section is where a spec has the settings.
var Section = plugin.Section[Config]{Name: "timer"}

// Config is the content of the section.
type Config struct {
	// MaxWaitSeconds is the longest wait of a call; 0: 366 days, which is the limit.
	MaxWaitSeconds int64 `json:"max_wait_seconds,omitempty" jsonschema:"longest wait of a call in seconds; 366 days is the default, and the limit"`
	// Keep means that a person's message does not end a wait.
	Keep bool `json:"keep,omitempty" jsonschema:"a person's message does not end a wait"`
}

// Check returns an error with code [core.CodeInvalid] if the longest wait is out of bounds.
func (c Config) Check() error {
	if c.MaxWaitSeconds < 0 || c.MaxWaitSeconds > mostSeconds {
		return core.Errorf(core.CodeInvalid, "max_wait_seconds is %d, allowed are 1 to %d, and 0 for %[2]d", c.MaxWaitSeconds, mostSeconds)
	}
	return nil
}

// Plugin gives each agent that names it the tool wait_until, with the agent's own [Section].
type Plugin struct{}

// ID implements plugin.Plugin.
func (Plugin) ID() string { return ID }

// Register implements plugin.Plugin.
func (Plugin) Register(r *plugin.Registrar) error {
	config, err := Section.Read(r)
	if err != nil {
		return err
	}
	r.Tool(tool.New(tool.Spec{
		Name: Tool,
		Description: "Waits until a time, or for some seconds. " +
			"A person can end the wait earlier. The result names who has ended it.",
	}, config.wait))
	return nil
}

// arguments are those of a call.
type arguments struct {
	Time    *time.Time `json:"time,omitempty" jsonschema:"when to continue, in the format of RFC 3339, such as 2026-12-24T18:00:00+01:00"`
	Seconds *float64   `json:"seconds,omitempty" jsonschema:"how long to wait, if there is no time"`
	Note    string     `json:"note,omitempty" jsonschema:"what the wait is for"`
}

// Check returns an error about members that do not fit together.
func (a arguments) Check() error {
	switch {
	case (a.Time == nil) == (a.Seconds == nil):
		return core.Errorf(core.CodeInvalid, "want either time or seconds")
	case a.Seconds != nil && (*a.Seconds < 0 || math.IsNaN(*a.Seconds)):
		return core.Errorf(core.CodeInvalid, "seconds is %g, want 0 or more", *a.Seconds)
	}
	return nil
}

// result is what the model reads after the wait.
type result struct {
	Woken string          `json:"woken"`          // by whom: time, or person
	User  string          `json:"user,omitempty"` // of the person, if the deployment has users
	Said  json.RawMessage `json:"said,omitempty"`
	Note  string          `json:"note,omitempty"`
}

// wait suspends a call, and gives it its result when it has been woken.
func (c Config) wait(_ context.Context, call tool.Call, a arguments) (tool.Result, error) {
	if call.Resume != nil {
		r := result{Woken: "time", Note: a.Note}
		if d := call.Resume.Decision; !d.Woken() {
			r.Woken, r.User, r.Said = "person", d.User, d.Payload
		}
		return tool.NewResult(r), nil
	}
	most := float64(cmp.Or(c.MaxWaitSeconds, mostSeconds))
	var seconds float64
	if a.Time != nil {
		seconds = a.Time.Sub(call.Now).Seconds()
	} else {
		seconds = *a.Seconds
	}
	if seconds > most {
		return tool.Failed(core.Errorf(core.CodeInvalid, "the wait is longer than %d seconds, the limit", int64(most)).Error()), nil
	}
	at := call.Now.Add(time.Duration(max(seconds, 0) * float64(time.Second)))
	parameters, err := core.EncodeJSON(map[string]string{"until": at.UTC().Format(time.RFC3339)})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Suspended(core.TicketRequest{
		Kind: core.TicketTimer, Message: a.Note, Parameters: parameters, WakeAt: at, Keep: c.Keep,
	}), nil
}
