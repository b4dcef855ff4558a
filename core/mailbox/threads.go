package mailbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Creating describes a thread to be made, without messages.
type Creating struct {
	Thread core.ThreadKey
	// User is its owner; empty: every user of the tenant.
	User string
	// Key makes it idempotent: the same key with the same About meets the thread that it
	// has made. Empty: a thread that exists is thread.ErrExists.
	Key   string
	About thread.About
}

// Limits of a thread's title and metadata.
const (
	maxTitle        = 200      // characters
	maxMetadata     = 16 << 10 // bytes of JSON without blanks
	maxMetadataKeys = 64       // of the object itself
)

// errMetadataTooLarge refuses metadata over maxMetadata.
var errMetadataTooLarge = core.Errorf(core.CodeTooLarge, "metadata is larger than %d bytes", maxMetadata)

// checkAbout validates a thread's title and metadata before they are stored.
func checkAbout(a thread.About) error {
	if n := utf8.RuneCountInString(a.Title); n > maxTitle {
		return core.Errorf(core.CodeInvalid, "title has %d characters, at most %d are allowed", n, maxTitle)
	}
	if i := strings.IndexFunc(a.Title, unicode.IsControl); i >= 0 || !utf8.ValidString(a.Title) {
		return core.Errorf(core.CodeInvalid, "title %q has a control character, text on one line is allowed", core.Excerpt(a.Title))
	}
	if a.Title != "" && core.Blank(a.Title) {
		return core.Errorf(core.CodeInvalid, "title is blank; null removes a title")
	}
	if a.Metadata == nil {
		return nil
	}
	if len(a.Metadata) > maxMetadata {
		return fmt.Errorf("%w: it has %d", errMetadataTooLarge, len(a.Metadata))
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(a.Metadata, &members); err != nil || members == nil {
		return core.Errorf(core.CodeInvalid, "metadata must be an object")
	}
	if len(members) > maxMetadataKeys {
		return core.Errorf(core.CodeInvalid, "metadata has %d keys, at most %d are allowed", len(members), maxMetadataKeys)
	}
	return nil
}

// Create makes a thread. Title and metadata are stored by a second write: a crash between
// the two leaves a thread without them, which the same call completes.
// core.CodeConflict: the key was used with another About. thread.ErrExists: the thread
// exists, and this key did not make it.
func (s *Service) Create(ctx context.Context, c Creating) (thread.Head, error) {
	if err := errors.Join(c.Thread.Check(), checkAbout(c.About)); err != nil {
		return thread.Head{}, err
	}
	if c.User != "" {
		if err := core.CheckName("user", c.User); err != nil {
			return thread.Head{}, err
		}
	}
	about, err := s.records.EncodeAbout(&c.About)
	if err != nil {
		return thread.Head{}, err
	}
	create := commit{w: &s.writer, key: c.Thread, change: thread.Create{Owner: c.User},
		build: func(next thread.Head, _ thread.Result) ([]store.Record, error) {
			listing, err := threadListing(s.records, next, "", "", nil)
			return []store.Record{listing}, err
		}}
	var made store.Pointer
	if c.Key != "" {
		sum := sha256.Sum256(about)
		made = encodePointer(keyName(c.Thread.Thread, "create "+c.Key), pointer{Thread: c.Thread.Thread, Body: hex.EncodeToString(sum[:16])}, keyLife)
		create.pointers = []store.Pointer{made}
	}
	head, _, err := create.run(ctx, thread.Head{})
	if taken, ok := errors.AsType[*pointerError](err); ok {
		err = core.Errorf(core.CodeConflict, "thread %s: an earlier request with the same Idempotency-Key has other content: %w", c.Thread.Thread, taken)
	}
	if errors.Is(err, thread.ErrExists) {
		head, err = createdBefore(ctx, s, c, made, err)
	}
	if err != nil {
		return head, s.outward(ctx, c.Thread, "thread", err)
	}
	if c.About.Title == "" && len(c.About.Metadata) == 0 {
		return head, nil
	}
	// A thread that this call has just made has no title yet; another one may.
	if head.Version > 1 { // by an earlier try, or changed since
		if _, ok, err := s.store.Get(ctx, c.Thread, recordname.About); ok || err != nil {
			return head, err
		}
	}
	_, head, err = s.Describe(ctx, c.Thread, c.User, func(thread.About) (thread.About, error) { return c.About, nil })
	return head, err
}

// createdBefore looks whether the thread that exists was made by the same call; else the
// error is exists. made is the call's key; the zero Pointer: it has none.
func createdBefore(ctx context.Context, s *Service, c Creating, made store.Pointer, exists error) (thread.Head, error) {
	head, err := s.Head(ctx, c.Thread)
	if err != nil {
		return head, err
	}
	if err := checkAccess(head, c.User); err != nil {
		return head, fmt.Errorf("thread %s: %w", c.Thread.Thread, err)
	}
	if made.Name == "" {
		return head, exists
	}
	value, ok, err := s.store.Pointer(ctx, c.Thread.Tenant, made.Name)
	if err == nil && (!ok || !slices.Equal(value, made.Value)) {
		err = exists
	}
	return head, err
}

// About reads a thread's title and metadata; the zero About if it has none.
func (s *Service) About(ctx context.Context, key core.ThreadKey) (thread.About, error) {
	return s.reads.about(ctx, key)
}

// about is [Service.About].
func (r reader) about(ctx context.Context, key core.ThreadKey) (thread.About, error) {
	record, ok, err := r.store.Get(ctx, key, recordname.About)
	if err != nil || !ok {
		return thread.About{}, err
	}
	about, err := r.records.DecodeAbout(record.Payload)
	if err != nil {
		return about, fmt.Errorf("thread %s: %w", key.Thread, err)
	}
	return about, nil
}

// Describe changes a thread's title and metadata. edit receives the stored ones, and is
// called again if another write was quicker: each change is made on the previous one. Its
// error is Describe's.
func (s *Service) Describe(ctx context.Context, key core.ThreadKey, user string, edit func(thread.About) (thread.About, error)) (about thread.About, head thread.Head, err error) {
	c := commit{w: &s.writer, key: key, change: thread.Touch{},
		build: func(next thread.Head, _ thread.Result) ([]store.Record, error) {
			if err := checkAccess(next, user); err != nil {
				return nil, err
			}
			// Read under the version that the write is for: if another write comes in between,
			// it makes the next version, or this record is refused.
			was, err := s.reads.about(ctx, key)
			if err == nil {
				about, err = edit(was)
			}
			if err == nil {
				err = checkAbout(about)
			}
			if err != nil {
				return nil, err
			}
			// Fields that a newer program stored there stay.
			about.Unknown = was.Unknown
			payload, err := s.records.EncodeAbout(&about)
			return []store.Record{{Name: recordname.About, Fence: next.Fence, Version: next.Version, Payload: payload}}, err
		}}
	if head, _, err = c.run(ctx, thread.Head{}); err != nil {
		return about, head, s.outward(ctx, key, "thread", err)
	}
	return about, head, nil
}
