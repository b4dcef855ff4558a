package httpapi

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// What cursors begin with keeps those of other routes, and numbers made up by
// clients, out: what a cursor says may then change without a client that depends on
// it.
const (
	messagesCursor  = "messages:"
	approvalsCursor = "approvals:"
	mailboxCursor   = "mailbox:"
)

// pageQuery reads limit, 0 when there is none, and cursor strictly: a misspelt
// cursor that was passed over would show the first page again, for ever.
func pageQuery(raw string) (limit int, cursor *string, err error) {
	limit, cursor, _, err = filteredQuery(raw)
	return limit, cursor, err
}

// filteredQuery is pageQuery for a page that takes filters too, which are in values.
func filteredQuery(raw string, filters ...string) (limit int, cursor *string, values url.Values, err error) {
	values, err = url.ParseQuery(raw)
	if err != nil {
		return 0, nil, nil, core.Errorf(core.CodeInvalid, "query: %v", err)
	}
	allowed := append([]string{"limit", "cursor"}, filters...)
	for name, given := range values {
		if !slices.Contains(allowed, name) {
			return 0, nil, nil, core.Errorf(core.CodeInvalid, "query has the unknown parameter %q, allowed are %s", core.Excerpt(name), strings.Join(allowed, ", "))
		}
		if len(given) > 1 {
			return 0, nil, nil, core.Errorf(core.CodeInvalid, "query has the parameter %q %d times", name, len(given))
		}
		if given[0] == "" && slices.Contains(filters, name) { // it would filter nothing
			return 0, nil, nil, core.Errorf(core.CodeInvalid, "query has the parameter %q without a value", name)
		}
	}
	if values.Has("limit") {
		text := values.Get("limit")
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > 200 {
			return 0, nil, nil, core.Errorf(core.CodeInvalid, "limit %q is not a number from 1 to 200", core.Excerpt(text))
		}
	}
	if values.Has("cursor") {
		given := values.Get("cursor")
		cursor = &given
	}
	return limit, cursor, values, nil
}

// encodePlace makes a cursor of a kind.
func encodePlace(kind, place string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + place))
}

// decodeCursor returns the place that a cursor of a kind says.
func decodeCursor(kind, cursor string) (place string, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(text), kind)
}

func badCursor(cursor string) error {
	return core.Errorf(core.CodeInvalid, "cursor %q is not one that this route gave", core.Excerpt(cursor))
}
