package toolrun_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/tool"
)

// moody is a tool whose spec is made by a function.
type moody struct{ spec func() tool.Spec }

func (m *moody) Spec() tool.Spec           { return m.spec() }
func (*moody) Check(json.RawMessage) error { return nil }
func (*moody) Run(context.Context, tool.Call) (tool.Result, error) {
	return tool.NewResult("done"), nil
}

func TestAdmitRefusesAToolThatCannotSayWhatItIs(t *testing.T) {
	var missing *moody
	for _, test := range []struct {
		name string
		tool tool.Tool
		want string
	}{
		{"nil", nil, "tool is nil"},
		{"a nil pointer", missing, "spec of a tool of type *toolrun_test.moody: panic: runtime error: invalid memory address or nil pointer dereference"},
		{"a spec that panics", &moody{func() tool.Spec { panic("no schema") }}, "spec of a tool of type *toolrun_test.moody: panic: no schema"},
		{"a spec that is refused", &moody{func() tool.Spec { return tool.Spec{Name: "x y"} }}, "tool name \"x y\" has the character ' ', allowed are A-Z a-z 0-9 _ -"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := toolrun.Admit(test.tool); err == nil || err.Error() != test.want {
				t.Errorf("error is %v, want %s", err, test.want)
			}
		})
	}
}

func TestAdmitAsksForTheSpecOnce(t *testing.T) {
	asked := 0
	admitted, err := toolrun.Admit(&moody{func() tool.Spec {
		if asked++; asked > 1 {
			panic("asked again")
		}
		return tool.Spec{Name: "moody", Timeout: time.Second}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if spec := admitted.Spec(); spec.Name != "moody" || spec.Timeout != time.Second {
		t.Errorf("spec is %+v, want the first one", spec)
	}
	result, err := toolrun.Execute(t.Context(), admitted, tool.Call{Name: "moody", Arguments: json.RawMessage(`{}`)})
	if err != nil || string(result.Data) != `"done"` {
		t.Errorf("result is %s, %v, want the tool's", result.Data, err)
	}
}
