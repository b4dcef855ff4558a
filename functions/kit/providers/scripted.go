package providers

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
)

// script is the model that needs no provider.
func script(c connection) (model.Model, error) {
	if c.env == nil {
		return nil, core.Errorf(core.CodeInvalid, "the scripted model is bound by REVEILLE_MODEL=scripted, and no provider that is data")
	}
	return scripted.New(c.env), nil
}
