package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// BaseURL reads the option for the address of a provider. The error, which has the code
// invalid and begins with the adapter's name, never shows a password.
func BaseURL(adapter, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, core.Errorf(core.CodeInvalid, "%s: base URL is not a URL", adapter) // the error would quote it, with a password perhaps
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, core.Errorf(core.CodeInvalid, "%s: base URL %q is not an absolute http or https URL", adapter, core.Excerpt(u.Redacted()))
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, core.Errorf(core.CodeInvalid, "%s: base URL has a user, a query or a fragment; it may have a path only", adapter)
	}
	return u, nil
}

// Source returns the source of an adapter's keys: key, or source if it is not nil. If
// both are set, or no header can carry the key, the error has the code invalid. If
// neither is set, requests have no key.
func Source(adapter, key string, source secret.Source) (secret.Source, error) {
	if source != nil {
		if key != "" {
			return nil, core.Errorf(core.CodeInvalid, "%s: both an API key and a source of keys are set, want one of them", adapter)
		}
		return source, nil
	}
	if err := CheckHeader(adapter, "API key", key); err != nil {
		return nil, err
	}
	value := secret.New(key)
	return func(context.Context, secret.String) (secret.String, error) { return value, nil }, nil
}

// CheckHeader returns an error with code invalid if no header can carry the option. It
// never quotes the value.
func CheckHeader(adapter, option, value string) error {
	if carried(value) {
		return nil
	}
	return core.Errorf(core.CodeInvalid, "%s: %s has a space, a line end or another character that a header cannot carry", adapter, option)
}

// CheckIdle returns an error with code invalid for a negative idle timeout.
func CheckIdle(adapter string, timeout time.Duration) error {
	if timeout < 0 {
		return core.Errorf(core.CodeInvalid, "%s: idle timeout %v is negative", adapter, timeout)
	}
	return nil
}

// Invalid returns the error for a request that an adapter's protocol cannot express: a
// *model.Error of KindInvalid.
func Invalid(adapter, message string) error {
	return &model.Error{Kind: model.KindInvalid, Message: adapter + ": " + message}
}

// Refused returns err, an error of encoding a request without messages, as model.Checker
// returns it: with the code invalid. Nil stays nil.
func Refused(err error) error {
	var e *model.Error
	if errors.As(err, &e) {
		return core.Errorf(core.CodeInvalid, "%w", err)
	}
	return err
}

// IsObject reports whether text is one JSON object.
func IsObject(text json.RawMessage) bool {
	return json.Valid(text) && bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

// CheckTools returns the error of the first tool that a request cannot have: name refuses
// its name, for which allowed lists the valid characters, or its parameters are not a
// JSON object.
func CheckTools(adapter string, tools []model.ToolDefinition, name func(string) bool, allowed string) error {
	for _, tool := range tools {
		if !name(tool.Name) {
			return Invalid(adapter, "tool name "+quoted(tool.Name)+" is not supported by this API, want "+allowed)
		}
		if len(tool.Parameters) > 0 && !IsObject(tool.Parameters) {
			return Invalid(adapter, "the parameters of tool "+quoted(tool.Name)+" are "+core.Excerpt(string(tool.Parameters))+", want a JSON Schema object")
		}
	}
	return nil
}

// PlainName reports whether name has 1 to limit characters of A-Z a-z 0-9 _ -.
func PlainName(name string, limit int) bool {
	for _, c := range name {
		if !plain(c) {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= limit
}

// MadePlain returns the name of a call for a provider that requires [PlainName] of names:
// _ replaces other characters, and a longer name is truncated. A model may have invented
// the name, and the provider would refuse every later request of its thread.
func MadePlain(name string, limit int) string {
	name = strings.Map(func(c rune) rune {
		if !plain(c) {
			return '_'
		}
		return c
	}, name)
	return cmp.Or(name[:min(len(name), limit)], "_")
}

func plain(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
