package toolrun

import (
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/tool"
)

// Admit returns a tool in the form that a registry or a plugin's registrar accepts: with
// its spec, which is requested once and checked here. A run uses the spec of that time,
// even if the tool later returns another. A nil tool, a spec that [tool.Spec.Check]
// refuses, and a panic of Spec are errors.
func Admit(t tool.Tool) (tool.Tool, error) {
	if t == nil {
		return nil, errors.New("tool is nil")
	}
	a := admitted{Tool: t}
	err := env.Protect(func() error {
		a.spec = t.Spec()
		return nil
	})
	if err != nil { // it has no name to say; its type may help
		return nil, fmt.Errorf("spec of a tool of type %T: %w", t, err)
	}
	if err := a.spec.Check(); err != nil {
		return nil, err
	}
	return a, nil
}

type admitted struct {
	tool.Tool
	spec tool.Spec
}

// Spec implements Tool.
func (a admitted) Spec() tool.Spec { return a.spec }
