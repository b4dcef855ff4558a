package httpapi

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// The starts of cursors exclude those of other routes, and numbers that clients invent.
// So the form of a cursor may change without breaking a client.
const (
	messagesCursor  = "messages:"
	approvalsCursor = "approvals:"
	mailboxCursor   = "mailbox:"
	threadsCursor   = "threads:"
	runsCursor      = "runs:"
	patchesCursor   = "patches:"
	stepsCursor     = "steps:"
	eventsCursor    = "events:"
)

// pageQuery reads limit, 0 if it is absent, and cursor strictly: a misspelt cursor that
// was ignored would return the first page again, for ever.
func pageQuery(raw string) (limit int, cursor *string, err error) {
	limit, cursor, _, err = filteredQuery(raw)
	return limit, cursor, err
}

// filteredQuery is pageQuery for a page that takes filters too, which are in values.
func filteredQuery(raw string, filters ...string) (limit int, cursor *string, values url.Values, err error) {
	if values, err = query(raw, append([]string{"limit", "cursor"}, filters...)...); err != nil {
		return 0, nil, nil, err
	}
	if values.Has("limit") {
		if limit, err = clamped(values.Get("limit")); err != nil {
			return 0, nil, nil, err
		}
	}
	if values.Has("cursor") {
		given := values.Get("cursor")
		cursor = &given
	}
	return limit, cursor, values, nil
}

// Bounds of a page's limit. A limit beyond them is clamped, and the page has the clamped
// limit: a client that asks for 1,000 continues by the cursor, as it would after 200.
const (
	leastLimit = 1
	mostLimit  = 200
	usualLimit = 50 // without a limit
)

// clamped reads a limit, which may be any whole number.
func clamped(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // with which n is the nearest
		return 0, core.Errorf(core.CodeInvalid, "limit %q is not a whole number", core.Excerpt(text))
	}
	return int(min(max(n, leastLimit), mostLimit)), nil
}

// shown is the limit that a page reports; limit is 0 if the request has none.
func shown(limit int) int { return cmp.Or(limit, usualLimit) }

// query reads parameters strictly: one that is misspelt is not passed over.
func query(raw string, allowed ...string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "query: %v", err)
	}
	for name, given := range values {
		switch {
		case strings.HasPrefix(name, "X-Amz-"): // a request that is signed in its query
		case len(allowed) == 0:
			return nil, core.Errorf(core.CodeInvalid, "query has the unknown parameter %q, none is allowed", core.Excerpt(name))
		case !slices.Contains(allowed, name):
			return nil, core.Errorf(core.CodeInvalid, "query has the unknown parameter %q, allowed are %s", core.Excerpt(name), strings.Join(allowed, ", "))
		case len(given) > 1:
			return nil, core.Errorf(core.CodeInvalid, "query has the parameter %q %d times", name, len(given))
		case given[0] == "" && name != "limit" && name != "cursor" && name != lastEvent: // it would filter nothing
			return nil, core.Errorf(core.CodeInvalid, "query has the parameter %q without a value", name)
		}
	}
	return values, nil
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

// cursorOf makes the cursor of a page's Next; nil: the page is the last.
func cursorOf(kind, next string) *string {
	if next == "" {
		return nil
	}
	cursor := encodePlace(kind, next)
	return &cursor
}

// placeOf returns the place in a cursor of a kind; empty: there is no cursor. The host
// interprets the place.
func placeOf(kind string, cursor *string) (string, error) {
	if cursor == nil {
		return "", nil
	}
	place, ok := decodeCursor(kind, *cursor)
	if !ok || place == "" {
		return "", badCursor(*cursor)
	}
	return place, nil
}

func badCursor(cursor string) error {
	return core.Errorf(core.CodeInvalid, "cursor %q is not one that this route returned", core.Excerpt(cursor))
}
