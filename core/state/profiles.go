package state

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// Profiles keeps values that outlive threads and are shared between them: the preferences
// of a user, common knowledge of several agents. A hook or tool gets the profiles of its
// run's tenant. Code reads and writes through a [ProfileKey].
//
// A profile is not part of a run's state. It is changed immediately and not by a commit: a
// hook that runs again after a crash changes it again.
//
// Implementations must be safe for concurrent use and durable when a method
// returns nil. An error with another code than those named here means that the
// outcome is not known.
type Profiles interface {
	// Read reads a profile, strongly consistent. One that does not exist is the
	// zero Profile and no error.
	Read(ctx context.Context, name ProfileName) (Profile, error)
	// Write sets a value if the stored revision is the one given: 0 if no value may exist,
	// [AnyRevision] for any value or none. It returns the new revision. Another stored one
	// is [ErrProfileConflict], a value over 256 KiB has code [core.CodeTooLarge], and one
	// that is not JSON has code [core.CodeInvalid]; nothing was written then.
	Write(ctx context.Context, name ProfileName, value json.RawMessage, revision uint64) (uint64, error)
	// Delete erases a profile under the same condition as Write. If no value exists, it
	// succeeds, for any revision.
	Delete(ctx context.Context, name ProfileName, revision uint64) error
	// Keys lists the keys of a namespace that begin with prefix, in the order of their
	// bytes, from the first one after the given key, at most limit. It may cost as much as
	// reading their values.
	Keys(ctx context.Context, namespace, prefix, after string, limit int) ([]string, error)
}

// Profile is a stored value. Its revision is never 0, and permanently names this value:
// after any write, and after a deletion, there is another one. It implies no order.
type Profile struct {
	Value    json.RawMessage
	Revision uint64
}

// AnyRevision imposes no condition on a write or deletion: the last one wins.
const AnyRevision uint64 = math.MaxUint64

// Limits of a profile, in bytes.
const (
	maxProfileSize = 256 << 10 // of the value's JSON
	maxProfileKey  = 512       // of the key
)

// The errors of the ports to profiles, which they wrap.
var (
	// ErrProfileConflict: the profile has another revision than the one given.
	ErrProfileConflict = core.Errorf(core.CodeConflict, "the profile has another revision")
	errProfileTooLarge = core.Errorf(core.CodeTooLarge, "the profile is over the size limit")
	errNoProfiles      = core.Errorf(core.CodeUnsupported, "there is no store of profiles here")
)

// ProfileName is the place of a profile within its tenant.
type ProfileName struct {
	Namespace string // the kind of value: a [ProfileKey]'s name
	Key       string // which of its kind: free text, often that of a [Shared]
}

// String returns "namespace/key" for logs and errors.
func (n ProfileName) String() string { return n.Namespace + "/" + core.Excerpt(n.Key) }

// Check validates both parts: the namespace by [core.CheckName], and the key as 1
// to 512 bytes of UTF-8 without control characters. A backend may use
// one as a separator.
func (n ProfileName) Check() error {
	if err := core.CheckName("profile namespace", n.Namespace); err != nil {
		return err
	}
	if n.Key == "" {
		return core.Errorf(core.CodeInvalid, "key of profile %s is empty", n.Namespace)
	}
	return checkProfileText("key", n.Key)
}

// checkProfileText validates what a key may hold; what names it in the error.
func checkProfileText(what, text string) error {
	if len(text) > maxProfileKey {
		return core.Errorf(core.CodeInvalid, "%s of a profile is %d bytes long, at most %d are allowed", what, len(text), maxProfileKey)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return core.Errorf(core.CodeInvalid, "%s %q of a profile: want UTF-8 without control characters", what, core.Excerpt(text))
	}
	return nil
}

// CheckKeys validates the arguments of [Profiles.Keys], with the prefix as the name's key.
// Both prefix and after may be empty.
func (n ProfileName) CheckKeys(after string) error {
	if err := core.CheckName("profile namespace", n.Namespace); err != nil {
		return err
	}
	if err := checkProfileText("prefix", n.Key); err != nil {
		return err
	}
	return checkProfileText("key", after)
}

// CheckWrite validates the arguments of [Profiles.Write]; all backends call it, so that
// they refuse alike.
func (n ProfileName) CheckWrite(value json.RawMessage) error {
	if err := n.Check(); err != nil {
		return err
	}
	if len(value) > maxProfileSize {
		return fmt.Errorf("%w: %s has %d bytes, at most %d are allowed", errProfileTooLarge, n, len(value), maxProfileSize)
	}
	if !json.Valid(value) {
		return core.Errorf(core.CodeInvalid, "value of profile %s is not JSON", n)
	}
	return nil
}

// Admit decides a write or a deletion under the condition that the stored
// revision is the one given (0: nothing is stored). Backends without their own
// condition language call it under their lock; the others must decide the same.
func (n ProfileName) Admit(stored, revision uint64) error {
	if revision == AnyRevision || revision == stored {
		return nil
	}
	return fmt.Errorf("profile %s: %w", n, ErrProfileConflict)
}
