package secrets

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// name is a parsed name of a secret.
type name struct {
	id        string // what the service is asked for, {tenant} in it
	parameter bool   // of the parameter store
	field     string // of the JSON object that the secret is; empty: it is the text itself
}

// tenantPlace is where a name has the tenant.
const tenantPlace = "{tenant}"

// maxName is the most bytes that a name has in either service.
const maxName = 2048

// named reports whether a service may have something of this name.
func named(id string) bool {
	for _, c := range []byte(id) {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("/_+=.@:-", rune(c)) {
			return false
		}
	}
	return id != "" && len(id) <= maxName
}

// parse reads NAME, ssm:NAME or an ARN, with or without #FIELD at its end.
func parse(text string) (name, error) {
	id, field, fielded := strings.Cut(text, "#")
	n := name{id: id, field: field, parameter: strings.HasPrefix(id, "ssm:")}
	n.id = strings.TrimPrefix(n.id, "ssm:")
	if service := strings.SplitN(id, ":", 4); len(service) == 4 && service[0] == "arn" {
		n.parameter = service[2] == "ssm"
	}
	if !named(strings.ReplaceAll(n.id, tenantPlace, "t")) || fielded && field == "" {
		return name{}, core.Errorf(core.CodeInvalid, "secret %q: want the name or ARN of a secret in Secrets Manager, or ssm: and the name of a parameter; "+
			"{tenant} in the name selects a secret for each tenant, #FIELD at its end a field of its JSON", core.Excerpt(text))
	}
	return n, nil
}

// fixed reports whether the name is every tenant's.
func (n name) fixed() bool { return !strings.Contains(n.id, tenantPlace) }

// of returns the name for the tenant on whose behalf ctx is. The colons of a tenant, which
// no name of a secret can have, are slashes, which no tenant has.
func (n name) of(ctx context.Context) (name, error) {
	if n.fixed() {
		return n, nil
	}
	id, ok := core.IdentityFrom(ctx)
	if !ok {
		return name{}, core.Errorf(core.CodeInternal, "secret %s: its name needs a tenant, but the call has none", n.id)
	}
	n.id = strings.ReplaceAll(n.id, tenantPlace, strings.ReplaceAll(id.Tenant, ":", "/"))
	return n, nil
}

// text is the name for errors and logs.
func (n name) text() string {
	text := n.id
	if n.parameter && !strings.HasPrefix(text, "arn:") {
		text = "ssm:" + text
	}
	if n.field != "" {
		text += "#" + n.field
	}
	return text
}

// pick returns the text, or the field of the object that it is.
func (n name) pick(text string) (string, error) {
	if n.field == "" {
		return text, nil
	}
	var object map[string]json.RawMessage
	var value string
	if json.Unmarshal([]byte(text), &object) != nil || object[n.field] == nil || json.Unmarshal(object[n.field], &value) != nil {
		return "", core.Errorf(core.CodeInternal, "it is not a JSON object with a string %q", n.field) // never quoting it
	}
	return value, nil
}
