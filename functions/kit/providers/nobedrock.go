//go:build !bedrock

package providers

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// amazon returns an error. The first build of Bedrock's SDK takes 18 s, so a program has it
// only if it is built with the tag bedrock.
func amazon(agent.ProviderSpec) (model.Model, error) {
	return nil, core.Errorf(core.CodeInvalid, "this program is built without Bedrock: start the local host with `make run MODEL=bedrock/NAME`, or build a program with -tags bedrock (deployed functions have it)")
}
