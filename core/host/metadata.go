package host

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// merge applies a JSON merge patch (RFC 7396) to metadata, an object or nil. The result
// has no blanks and its keys are sorted, so that equal metadata has equal bytes; nil:
// nothing is left. A patch that is neither an object nor null is core.CodeInvalid.
func merge(metadata, patch json.RawMessage) (json.RawMessage, error) {
	if patch == nil {
		return metadata, nil
	}
	var change any
	if err := decodeJSON(patch, &change); err != nil {
		return nil, core.Errorf(core.CodeInvalid, "metadata is not JSON: %w", err)
	}
	if change == nil {
		return nil, nil
	}
	if _, ok := change.(map[string]any); !ok {
		return nil, core.Errorf(core.CodeInvalid, "metadata must be an object, or null")
	}
	var was any
	if metadata != nil {
		if err := decodeJSON(metadata, &was); err != nil {
			return nil, core.Errorf(core.CodeCorrupt, "stored metadata is not JSON: %w", err)
		}
	}
	now := merged(was, change).(map[string]any)
	if len(now) == 0 {
		return nil, nil
	}
	return core.EncodeJSON(now)
}

// decodeJSON decodes one JSON value and refuses text after it. Numbers stay as they are
// written: a large id in metadata must not lose digits.
func decodeJSON(b []byte, v any) error {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("unexpected data after the value")
	}
	return nil
}

// merged returns a value after a change: members of an object are changed one by one, a
// null removes a member, anything else replaces the value. It may change was.
func merged(was, change any) any {
	changes, ok := change.(map[string]any)
	if !ok {
		return change
	}
	object, ok := was.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(object, name)
			continue
		}
		object[name] = merged(object[name], value)
	}
	return object
}
