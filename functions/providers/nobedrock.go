//go:build !bedrock

package providers

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// onBedrock stands where the AWS SDK is not linked: it costs a cold build 18 s.
func onBedrock(connection) (model.Model, error) {
	return nil, core.Errorf(core.CodeInvalid, "this program is built without Bedrock: build it with the tag bedrock, as `make run MODEL=bedrock/NAME` and the functions on AWS are")
}
