//go:build !bedrock

package providers

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// amazon returns an error: Bedrock's SDK takes 18 s to compile for the first time, so that
// a program has it only if it is built with the tag bedrock.
func amazon(agent.ProviderSpec) (model.Model, error) {
	return nil, core.Errorf(core.CodeInvalid, "this program is built without Bedrock: `make run MODEL=bedrock/NAME` builds the local host with it, -tags bedrock any other; what is deployed has it")
}
