package simtest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// asking starts children as the documents of package tool have it, in each way.
func asking(booked func(ctx context.Context, call tool.Call)) func() (agent.Parts, error) {
	type question struct {
		Prompt string `json:"prompt"`
	}
	child := func(q question) tool.Child {
		return tool.Child{Agent: "helper", Messages: []core.Message{core.UserMessage(q.Prompt)}}
	}
	return func() (agent.Parts, error) {
		ask := tool.New(tool.Spec{Name: "ask"}, func(ctx context.Context, call tool.Call, q question) (tool.Result, error) {
			if end, over := call.ChildEnd(); over {
				return tool.ChildResult(end), nil
			}
			run, err := call.Start(ctx, child(q))
			if err != nil {
				return tool.Result{}, err
			}
			return tool.AwaitChild(run, core.ResumeReplay), nil
		})
		pass := tool.New(tool.Spec{Name: "pass"}, func(ctx context.Context, call tool.Call, q question) (tool.Result, error) {
			run, err := call.Start(ctx, child(q))
			if err != nil {
				return tool.Result{}, err
			}
			return tool.AwaitChild(run, core.ResumeAsResult), nil
		})
		tell := tool.New(tool.Spec{Name: "tell"}, func(ctx context.Context, call tool.Call, q question) (string, error) {
			told := child(q)
			told.Background = true
			_, err := call.Start(ctx, told)
			return "told", err
		})
		plain := tool.New(tool.Spec{Name: "plain"}, func(ctx context.Context, call tool.Call, q question) (string, error) {
			booked(ctx, call)
			return "done", nil
		})
		return agent.Parts{
			Models:  map[string]agent.ModelBinding{"m": {Model: model.None{}}},
			Tools:   []tool.Tool{ask, pass, tell, plain},
			Specs:   []agent.Spec{{ID: "asker", Model: "m"}, {ID: "helper", Model: "m"}},
			Default: "asker",
		}, nil
	}
}

func TestToolsThatWaitForAChildDoTheirWorkOnce(t *testing.T) {
	parts := asking(func(context.Context, tool.Call) {})
	for _, tt := range []struct {
		name, says string
		varies     bool // when the child's end is read
		want       []string
	}{
		{"read by the tool", `call: ask {"prompt":"look"}`, false, nil},
		{"as the result", `call: pass {"prompt":"look"}`, false, nil},
		{"in the background", `call: tell {"prompt":"look"}`, true, nil},
		{"without a child", `call: plain {"prompt":"look"}`, false, []string{"work done twice: plain"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, found(t, parts, Scenario{Name: "s", Person: []Act{Say(tt.says)}, Varies: tt.varies})); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestToolsThatSayWhatTheyAreRaiseNoAlarm(t *testing.T) {
	parts := func() (agent.Parts, error) {
		return agent.Parts{
			Models: map[string]agent.ModelBinding{"m": {Model: model.None{}}},
			Tools: []tool.Tool{
				tool.New(tool.Spec{Name: "look", ReadOnly: true}, func(context.Context, tool.Call, struct{}) (string, error) { return "seen", nil }),
				tool.New(tool.Spec{Name: "watch", ReadOnly: true, Timeout: 10 * time.Second}, func(ctx context.Context, _ tool.Call, _ struct{}) (string, error) {
					select {
					case <-ctx.Done():
						return "", context.Cause(ctx)
					case <-time.After(5 * time.Second):
						return "seen", nil
					}
				}),
				tool.New(tool.Spec{Name: "fire", AtMostOnce: true, Timeout: time.Second}, func(context.Context, tool.Call, struct{}) (string, error) { return "fired", nil }),
			},
			Specs: []agent.Spec{{ID: "a", Model: "m"}},
		}, nil
	}
	scenario := Scenario{Name: "s", Person: []Act{Say("call: look"), Say("call: watch"), Say("call: fire")}}
	if diff := cmp.Diff([]string(nil), found(t, parts, scenario)); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}
