package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Encode returns value as JSON with < > and & as they are, without a line end.
func Encode(adapter string, value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, Invalid(adapter, fmt.Sprintf("encode the request: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// AddOptions returns body, an encoded request, with the members of options, a JSON object
// (model.Request.ProviderOptions), behind its own: sorted by name and without space, so
// that the same options make the same bytes. A member that body has, or that is reserved
// because the adapter sets it in other requests, is a *model.Error of KindInvalid that
// names it, and so is what is no object. Empty options add nothing.
func AddOptions(adapter string, body []byte, options json.RawMessage, reserved ...string) ([]byte, error) {
	if len(options) == 0 {
		return body, nil
	}
	var given, own map[string]json.RawMessage
	if !IsObject(options) || json.Unmarshal(options, &given) != nil {
		return nil, Invalid(adapter, "provider_options are "+core.Excerpt(string(options))+", want a JSON object")
	}
	if err := json.Unmarshal(body, &own); err != nil {
		return nil, Invalid(adapter, fmt.Sprintf("encode the request: %v", err))
	}
	out := bytes.NewBuffer(bytes.TrimSuffix(bytes.TrimSpace(bytes.Clone(body)), []byte("}")))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, set := own[name]; set || slices.Contains(reserved, name) {
			return nil, Invalid(adapter, "provider_options."+core.Excerpt(name)+" is set by the adapter and cannot be given")
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		key, _ := json.Marshal(name) // a string has always a form
		out.Write(key)
		out.WriteByte(':')
		if err := json.Compact(out, given[name]); err != nil {
			return nil, Invalid(adapter, fmt.Sprintf("provider_options.%s: %v", core.Excerpt(name), err))
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
