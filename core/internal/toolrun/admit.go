package toolrun

import (
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/tool"
)

// Admit returns a tool as a registry or a plugin's registrar takes it in: with its
// spec, which is asked for once and checked here. A run reads what the model was
// told of the tool then, whatever the tool says of itself later. A nil tool, what
// [tool.Spec.Check] refuses, and a panic of Spec are errors.
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
