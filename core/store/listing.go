package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Place is the place of a record in a list: newest first, and at the same time in reverse
// order of names.
type Place struct {
	At     int64 // unix milliseconds
	Thread string
	Name   string // of the record
}

// Listed is a record in a list.
type Listed struct {
	Place
	Payload []byte
}

// Compare is negative when p is older than q, so that q is listed first.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.At, q.At), cmp.Compare(p.Thread, q.Thread), cmp.Compare(p.Name, q.Name))
}

// Place returns the list of a tenant that a record of [KindLatest] is in, and its place
// there, as one of the thread. Other members of its payload are ignored, so that one of a
// newer program is listed as well. A payload without a place is core.CodeInvalid.
func (r Record) Place(thread string) (list string, place Place, err error) {
	var l listing
	if !l.scan(r.Payload) {
		if err := json.Unmarshal(r.Payload, &l); err != nil {
			return "", Place{}, core.Errorf(core.CodeInvalid, "record %s: its listing is not JSON: %w", r.Name, err)
		}
	}
	if l.At < 0 {
		return "", Place{}, core.Errorf(core.CodeInvalid, "record %s: listed at %d, a time is 0 or more", r.Name, l.At)
	}
	return l.List, Place{At: l.At, Thread: thread, Name: r.Name}, checkList(l.List)
}

// listing is what a backend must know of a record that is listed.
type listing struct {
	List string `json:"list"` // kind:owner, such as threads:ann
	At   int64  `json:"at"`   // unix milliseconds, 0 or more
}

// scan reads a payload that begins as programs write it, without decoding the rest: it
// is read with every put. false: it does not begin so.
func (l *listing) scan(payload []byte) bool {
	rest, ok := bytes.CutPrefix(payload, []byte(`{"schema":`))
	if !ok {
		return false
	}
	if rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, "0123456789"), []byte(`,"list":"`)); !ok {
		return false
	}
	list, rest, ok := bytes.Cut(rest, []byte(`","at":`))
	end := bytes.IndexAny(rest, ",}")
	if !ok || end < 1 || bytes.ContainsAny(list, `\"`) {
		return false
	}
	at := int64(0)
	for _, digit := range rest[:end] {
		if digit < '0' || digit > '9' || at > math.MaxInt64/10-1 {
			return false
		}
		at = 10*at + int64(digit-'0')
	}
	l.List, l.At = string(list), at
	return true
}

// checkList validates the name of a list: its kind, a colon, and its owner, each as
// core.CheckName has it; a list without an owner ends with the colon.
func checkList(list string) error {
	kind, of, ok := strings.Cut(list, ":")
	if !ok {
		return core.Errorf(core.CodeInvalid, "list %q has no colon, allowed are names such as threads:ann", core.Excerpt(list))
	}
	if of == "" {
		return core.CheckName("kind of list", kind)
	}
	return errors.Join(core.CheckName("kind of list", kind), core.CheckName("owner of list "+kind, of))
}

// CheckListed validates the arguments of [Backend.Listed].
func CheckListed(tenant, list string) error {
	if err := core.CheckName("tenant", tenant); err != nil {
		return err
	}
	return checkList(list)
}
