package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// Encode returns value as JSON with unescaped < > and &, without a line end.
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
// (model.Request.ProviderOptions), after its own. They are sorted by name and without
// spaces, so that the same options make the same bytes. It returns a *model.Error of
// KindInvalid if options is not an object, or names a member that body has, or one that
// is reserved because the adapter sets it in other requests. Empty options add nothing.
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
			return nil, Invalid(adapter, "provider_options."+core.Excerpt(name)+" is set by the adapter, remove it")
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
