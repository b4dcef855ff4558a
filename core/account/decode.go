package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// DecodeLimits reads limits from JSON:
//
//	{"default": {"runs_a_day": 1000, "tokens_a_day": 2000000, "spend_a_day_usd": 5.5, "concurrent_runs": 8},
//	 "tenants": {"acme": {"concurrent_runs": 64}}}
//
// A key that is not known, or is there twice, and a value of another type or out of range
// are core.CodeInvalid; the error names the key, and says what is allowed.
func DecodeLimits(data []byte) (t Tenants, err error) {
	if err := t.decode(data); err != nil {
		return Tenants{}, core.Errorf(core.CodeInvalid, "limits: %w", err)
	}
	return t, t.Check()
}

func (t *Tenants) decode(data []byte) error {
	top, err := members("", data, "default", "tenants")
	if err != nil {
		return err
	}
	for _, m := range top {
		if m.key == "default" {
			if t.Default, err = decodeLimits("default", m.value); err != nil {
				return err
			}
			continue
		}
		tenants, err := members("tenants", m.value)
		if err != nil {
			return err
		}
		t.Tenants = make(map[string]Limits, len(tenants))
		for _, named := range tenants {
			at := "tenants." + core.Excerpt(named.key)
			if t.Tenants[named.key], err = decodeLimits(at, named.value); err != nil {
				return err
			}
		}
	}
	return nil
}

func decodeLimits(at string, data []byte) (l Limits, err error) {
	given, err := members(at, data, "runs_a_day", "tokens_a_day", "spend_a_day_usd", "concurrent_runs")
	if err != nil {
		return l, err
	}
	for _, m := range given {
		want := "a whole number"
		switch m.key {
		case "runs_a_day":
			err = json.Unmarshal(m.value, &l.RunsADay)
		case "tokens_a_day":
			err = json.Unmarshal(m.value, &l.TokensADay)
		case "spend_a_day_usd":
			want = "dollars with at most nine places, such as 5.5"
			err = json.Unmarshal(m.value, &l.SpendADay)
		case "concurrent_runs":
			err = json.Unmarshal(m.value, &l.ConcurrentRuns)
		}
		if err != nil || bytes.Equal(m.value, []byte("null")) {
			return l, fmt.Errorf("%s.%s is %s, allowed: %s", at, m.key, core.Excerpt(string(m.value)), want)
		}
	}
	return l, nil
}

type member struct {
	key   string
	value json.RawMessage
}

// members reads an object whose keys are among those allowed; none: any.
func members(at string, data []byte, allowed ...string) (all []member, err error) {
	if at == "" {
		at = "the value"
	}
	seen := map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(data))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil, fmt.Errorf("%s must be an object", at)
	}
	for d.More() {
		token, err := d.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return nil, fmt.Errorf("%s is not JSON: %w", at, err)
		}
		m := member{key: key}
		if err := d.Decode(&m.value); err != nil {
			return nil, fmt.Errorf("%s.%s is not JSON: %w", at, core.Excerpt(key), err)
		}
		switch {
		case len(allowed) > 0 && !slices.Contains(allowed, key):
			return nil, fmt.Errorf("%s has the unknown key %q, allowed are %s", at, core.Excerpt(key), strings.Join(allowed, ", "))
		case seen[key]:
			return nil, fmt.Errorf("%s has the key %q twice", at, core.Excerpt(key))
		}
		seen[key] = true
		all = append(all, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", at, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is followed by more", at)
	}
	return all, nil
}
