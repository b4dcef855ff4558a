package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/wire"
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
	name, at, ok := scanListing(r.Payload)
	if list = string(name); !ok {
		if list, at, err = decodeListing(r.Payload); err != nil {
			return "", Place{}, core.Errorf(core.CodeInvalid, "record %s: its listing is not JSON: %w", r.Name, err)
		}
	}
	return list, Place{At: at, Thread: thread, Name: r.Name}, r.checkPlace(list, at)
}

// admitPlace is the error of Place, without the place: it allocates nothing for a payload
// as programs write it, and every put needs it.
func (r Record) admitPlace() error {
	if name, at, ok := scanListing(r.Payload); ok {
		if at >= 0 && usualList(name) {
			return nil
		}
		return r.checkPlace(string(name), at)
	}
	_, _, err := r.Place("")
	return err
}

func (r Record) checkPlace(list string, at int64) error {
	if at < 0 {
		return core.Errorf(core.CodeInvalid, "record %s: listed at %d, a time is 0 or more", r.Name, at)
	}
	return checkList(list)
}

func decodeListing(payload []byte) (list string, at int64, err error) {
	var l listing
	err = json.Unmarshal(payload, &l)
	return l.List, l.At, err
}

// listing is what a backend must know of a record that is listed.
type listing struct {
	List string `json:"list"` // kind:owner, such as threads:ann
	At   int64  `json:"at"`   // unix milliseconds, 0 or more
}

// scanListing reads a payload that begins as programs write it, without decoding the rest:
// it is read with every put. false: it does not begin so.
func scanListing(payload []byte) (list []byte, at int64, ok bool) {
	rest, ok := bytes.CutPrefix(payload, []byte(`{"schema":`))
	if !ok {
		return nil, 0, false
	}
	if rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, "0123456789"), []byte(`,"list":"`)); !ok {
		return nil, 0, false
	}
	list, rest, ok = bytes.Cut(rest, []byte(`","at":`))
	end := bytes.IndexAny(rest, ",}")
	if !ok || end < 1 || bytes.ContainsAny(list, `\"`) {
		return nil, 0, false
	}
	for _, digit := range rest[:end] {
		if digit < '0' || digit > '9' || at > math.MaxInt64/10-1 {
			return nil, 0, false
		}
		at = 10*at + int64(digit-'0')
	}
	return list, at, true
}

// checkList validates the name of a list: its kind, a colon, and its owner, each as
// core.CheckName has it; a list without an owner ends with the colon.
func checkList(list string) error {
	kind, of, ok := strings.Cut(list, ":")
	if !ok {
		return core.Errorf(core.CodeInvalid, "list %q has no colon, allowed are names such as threads:ann", core.Excerpt(list))
	}
	err := core.CheckName("kind of list", kind)
	if of != "" && core.CheckName("owner", of) != nil { // only an error names the list
		err = errors.Join(err, core.CheckName("owner of list "+kind, of))
	}
	return err
}

// usualList reports whether a list's name is valid and has no more than letters, digits, - and _
// around its colon, as nearly all have.
func usualList(list []byte) bool {
	kind, of, ok := bytes.Cut(list, []byte(":"))
	if !ok || len(kind) == 0 || len(kind) > wire.MaxName || len(of) > wire.MaxName {
		return false
	}
	for _, part := range [...][]byte{kind, of} {
		for _, c := range part {
			if letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'; !letter && c != '_' && c != '-' {
				return false
			}
		}
	}
	return true
}

// CheckListed validates the arguments of [Backend.Listed].
func CheckListed(tenant, list string) error {
	if err := core.CheckName("tenant", tenant); err != nil {
		return err
	}
	return checkList(list)
}
