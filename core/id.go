package core

import (
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core/internal/wire"
)

// ID identifies a run, a dispatch or a commit. It is 16 bytes, made by
// env.Env.NewID as a UUIDv7, and written in the canonical UUID form.
type ID [16]byte

// IsZero reports whether the id is unset. Its receiver is a pointer because encoding/json,
// which calls it for every field that may be omitted, would first copy a value to separate
// memory.
func (id *ID) IsZero() bool { return *id == ID{} }

// String returns the canonical lower-case UUID form.
func (id ID) String() string {
	b := id.text()
	return string(b[:])
}

// AppendTo appends what String returns to b: for names that hold an id, and are
// made for every record and event.
func (id ID) AppendTo(b []byte) []byte { return wire.AppendUUID(b, id) }

func (id ID) text() (b [36]byte) {
	wire.AppendUUID(b[:0], id)
	return b
}

// MarshalText implements encoding.TextMarshaler; the zero id is empty text.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return []byte{}, nil
	}
	b := id.text()
	return b[:], nil
}

// UnmarshalText implements encoding.TextUnmarshaler; empty text is the zero id.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	parsed, ok := parseID(text)
	if !ok {
		return notID(string(text))
	}
	*id = parsed
	return nil
}

// ParseID reads the canonical UUID form. Anything else is an Error with code
// [CodeInvalid].
func ParseID(text string) (ID, error) {
	id, ok := parseID([]byte(text))
	if !ok {
		return ID{}, notID(text)
	}
	return id, nil
}

func parseID(text []byte) (id ID, ok bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return ID{}, false
	}
	at := 0
	for _, group := range [...][]byte{text[:8], text[9:13], text[14:18], text[19:23], text[24:]} {
		n, err := hex.Decode(id[at:], group)
		if err != nil {
			return ID{}, false
		}
		at += n
	}
	return id, true
}

func notID(text string) error {
	return Errorf(CodeInvalid, "id %q is not a UUID", Excerpt(text))
}

// // CheckName validates an id that comes from outside (tenant, thread, message,
// decision): 1 to 128 of the characters A-Z a-z 0-9 . _ : and -, but neither "."
// nor "..", which clients and proxies drop from the path of an address. Anything
// else is an Error with code [CodeInvalid] that names what the id is for; a '#',
// for example, would reach another id's partition in the store.
func CheckName(what, name string) error {
	if name == "" {
		return Errorf(CodeInvalid, "%s is empty", what)
	}
	if len(name) > wire.MaxName {
		return Errorf(CodeInvalid, "%s is %d bytes long, at most %d are allowed", what, len(name), wire.MaxName)
	}
	if name == "." || name == ".." {
		return Errorf(CodeInvalid, "%s %q vanishes from the path of an address, give it another name", what, name)
	}
	for _, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '.' && c != '_' && c != ':' && c != '-' {
			return Errorf(CodeInvalid, "%s %q has the character %q, allowed are A-Z a-z 0-9 . _ : -", what, Excerpt(name), c)
		}
	}
	return nil
}

// Excerpt shortens text for an error message to at most 64 bytes, between
// characters.
func Excerpt(text string) string {
	if len(text) <= 64 {
		return text
	}
	cut := 61
	for cut > 58 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}

// ThreadKey names a thread: tenants never share one.
type ThreadKey struct {
	Tenant string `json:"tenant"`
	Thread string `json:"thread"`
}

// String returns "tenant/thread" for logs and errors.
func (k ThreadKey) String() string { return k.Tenant + "/" + k.Thread }

// Check validates both parts.
func (k ThreadKey) Check() error {
	if err := CheckName("tenant", k.Tenant); err != nil {
		return err
	}
	return CheckName("thread id", k.Thread)
}

// WakeCompact is the kind of a wake-up that claims nothing: the thread's newest turn asks
// for a summary.
const WakeCompact = "compact"

// WakeUp is the body of a mailbox message: a hint that a thread may have work.
// It may be lost, doubled, late or forged; it costs at most one useless claim.
type WakeUp struct {
	Tenant   string `json:"tenant"`
	Thread   string `json:"thread"`
	Dispatch ID     `json:"dispatch"`
	Epoch    uint64 `json:"epoch"`
	// Kind is what the hint is for: [WakeCompact], or empty for work, which a worker
	// is to claim. A program that does not know a kind looks for work.
	Kind string `json:"kind,omitempty"`
	// Tries is how often the hint came back because its receiver was too old a
	// program for the thread's records.
	Tries int `json:"tries,omitempty"`
	// Sweep: the sweep sent it, or a client that follows the thread. Such a hint never
	// sends itself again, since the next sweep does.
	Sweep bool `json:"sweep,omitempty"`
	// Followed is the time until which a client in another process follows the dispatch's
	// run, unix milliseconds; 0: no client is known to.
	Followed int64 `json:"followed,omitempty"`
	// WakeAt is the time, unix milliseconds, of the ticket that the hint is to wake; 0: it is for
	// other work. If it comes too early, it is sent again.
	WakeAt int64 `json:"wake_at,omitempty"`
}

// Key returns the thread that the hint names.
func (w WakeUp) Key() ThreadKey { return ThreadKey{Tenant: w.Tenant, Thread: w.Thread} }

// Check validates a hint that came from the queue.
func (w WakeUp) Check() error {
	if err := w.Key().Check(); err != nil {
		return fmt.Errorf("wake-up: %w", err)
	}
	return nil
}
