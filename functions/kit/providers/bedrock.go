//go:build bedrock

package providers

import (
	"github.com/reveille-run/reveille/adapters/models/bedrock"
	"github.com/reveille-run/reveille/core/model"
)

// Bedrock returns the provider of Amazon Bedrock's models. It makes no request; on Lambda
// it reads the environment alone. The error names what is missing there.
func Bedrock() (model.Model, error) {
	config, err := account()
	if err != nil {
		return nil, err
	}
	return bedrock.New(bedrock.Options{AWS: config})
}
