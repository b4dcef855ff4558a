package wire

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/strict"
)

// DecodeOptions reads the options of a provider that is data, strictly. Nil options leave
// into unchanged.
func DecodeOptions(options json.RawMessage, into any) error {
	if len(options) == 0 {
		return nil
	}
	return strict.Options{Name: "options"}.Decode(options, into)
}

// Made returns the result of an adapter's constructor as a model, which is nil if there is
// an error.
func Made[M model.Model](m M, err error) (model.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}
