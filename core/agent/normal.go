package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/reveille-run/reveille/core"
)

// Normal returns a copy of the spec in its one normal form: specs with the same meaning
// have one JSON text, and one hash.
func (s Spec) Normal() Spec {
	s = s.clone()
	for _, names := range []*[]string{&s.StopSequences, &s.Plugins, &s.ActiveHookFilter, &s.ExcludedTools, &s.ExcludedToolPatterns, &s.Delegates, &s.ExposedTools} {
		if len(*names) == 0 {
			*names = nil
		}
	}
	if len(s.AllowedTools) > 0 || len(s.AllowedToolPatterns) > 0 { // an empty list next to one that allows something has no meaning
		s.AllowedTools, s.AllowedToolPatterns = orNil(s.AllowedTools), orNil(s.AllowedToolPatterns)
	} else if s.AllowedToolPatterns != nil {
		s.AllowedTools, s.AllowedToolPatterns = []string{}, nil
	}
	for _, texts := range []*map[string]json.RawMessage{&s.Sections, &s.ProviderOptions} {
		if len(*texts) == 0 {
			*texts = nil
		}
		for name, value := range *texts {
			(*texts)[name] = normalJSON(value)
		}
	}
	if len(s.Stop) == 0 {
		s.Stop = nil
	}
	if s.ResponseFormat != nil {
		s.ResponseFormat.Schema = normalJSON(s.ResponseFormat.Schema)
	}
	return s
}

// Normal returns the spec in the one form for what means the same.
func (p ProviderSpec) Normal() ProviderSpec {
	if len(p.Options) > 0 {
		p.Options = normalJSON(p.Options)
	}
	return p
}

func orNil(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return names
}

// normalJSON returns valid JSON without spaces and with one way to escape texts. The
// order of members stays: models follow that of a schema.
func normalJSON(value json.RawMessage) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var out bytes.Buffer
	var ends []json.Delim // of the open objects and lists
	for key, first := false, true; ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return out.Bytes()
		}
		if err != nil {
			return value
		}
		delim, structural := token.(json.Delim)
		if closes := structural && (delim == '}' || delim == ']'); closes {
			out.WriteByte(byte(delim))
			ends = ends[:len(ends)-1]
			key, first = len(ends) > 0 && ends[len(ends)-1] == '}', false
			continue
		}
		inObject := len(ends) > 0 && ends[len(ends)-1] == '}'
		if !first && (key || !inObject) {
			out.WriteByte(',')
		}
		switch {
		case structural:
			out.WriteByte(byte(delim))
			ends = append(ends, delim+2) // '{'+2 is '}', '['+2 is ']'
			key, first = delim == '{', true
			continue
		default:
			text, err := core.EncodeJSON(token)
			if err != nil {
				return value
			}
			out.Write(text)
		}
		if inObject && key {
			out.WriteByte(':')
		}
		key, first = inObject && !key, false
	}
}
