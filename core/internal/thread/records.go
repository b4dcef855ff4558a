package thread

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// Records encodes and decodes the payloads of records. A log entry is binary: see
// entrycodec.go. Each other payload is a JSON object. Both start with their schema number.
// Within a schema unknown fields are ignored, and the known ones never change their
// meaning. The zero Records reads and writes the schemas of this release.
type Records struct {
	Schemas
	// Extra is an additional field that every record of schema 3 and later has: a
	// stand-in for a field of a later release, for tests of two releases that share a
	// store. Empty: no field.
	Extra string
}

const (
	schemaMember = `"schema":`
	schemaPrefix = `{` + schemaMember
	extraField   = "extra"
)

// Edited is r for a decision with edited arguments, whose schema is at least
// [SchemaEdited].
func (r Records) Edited() Records {
	r.Schemas = r.Schemas.Stored()
	return r
}

// encode returns the payload of a record; what names it in errors. v is a pointer:
// encoding/json copies a value that it receives.
func (r Records) encode(what string, v any) ([]byte, error) {
	schema := r.Schemas.Resolved().Writes
	var room [64]byte
	first := strconv.AppendUint(append(room[:0], schemaMember...), uint64(schema), 10)
	if schema > SchemaRead && r.Extra != "" {
		first = append(first, `,"extra":`...)
		first = strconv.AppendQuote(first, r.Extra)
	}
	var b []byte
	var err error
	usual, ok := v.(Usual)
	if ok {
		b, ok, err = wire.ObjectOf(first, usual)
	}
	if !ok {
		b, err = wire.Object(first, v)
	}
	if err != nil {
		return nil, core.Errorf(core.CodeInternal, "encode %s: %w", what, err)
	}
	return b, nil
}

func decode[T any](r Records, what string, b []byte) (v T, err error) {
	if _, err = r.schema(what, b); err != nil {
		return v, err
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return v, core.Errorf(core.CodeCorrupt, "decode %s: %w", what, err)
	}
	return v, nil
}

// schema reads the payload's schema number and refuses one that is newer than
// the program.
func (r Records) schema(what string, b []byte) (uint16, error) {
	n := SchemaOf(b)
	if n == 0 {
		return 0, noSchema(what)
	}
	if reads := r.Schemas.Resolved().Reads; n > reads {
		return 0, fmt.Errorf("%s of schema %d, newest known %d: %w", what, n, reads, ErrSchema)
	}
	if n > SchemaRead && r.Extra != "" {
		if extra := extraOf(b); extra != r.Extra {
			return 0, core.Errorf(core.CodeCorrupt, "decode %s: the field %q of schema %d is %q, want %q", what, extraField, n, extra, r.Extra)
		}
	}
	return n, nil
}

func noSchema(what string) error {
	return core.Errorf(core.CodeCorrupt, "decode %s: it does not begin with its schema number", what)
}

// extraOf is a payload's additional field; "": it has none, or is damaged.
func extraOf(b []byte) string {
	if _, isEntry := entrySchemaOf(b); isEntry {
		return entryExtraOf(b)
	}
	var extra struct{ Extra string }
	if json.Unmarshal(b, &extra) != nil {
		return ""
	}
	return extra.Extra
}

// SchemaOf returns the schema number that a payload begins with, also that of a newer program;
// 0: it does not begin with one.
func SchemaOf(payload []byte) uint16 {
	if n, isEntry := entrySchemaOf(payload); isEntry {
		if n > math.MaxUint16 {
			return 0
		}
		return uint16(n)
	}
	rest, ok := bytes.CutPrefix(payload, []byte(schemaPrefix))
	digits := rest[:len(rest)-len(bytes.TrimLeft(rest, "0123456789"))]
	n, err := strconv.ParseUint(string(digits), 10, 16)
	if !ok || err != nil {
		return 0
	}
	return uint16(n)
}

// Encode returns the stored form of another payload, v, which must encode as an
// object; what names it in errors.
func (r Records) Encode(what string, v any) ([]byte, error) { return r.encode(what, v) }

// Decode reads what Encode has written into v, a pointer; errors as for
// DecodeEntry.
func (r Records) Decode(what string, b []byte, v any) error {
	if _, err := r.schema(what, b); err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return core.Errorf(core.CodeCorrupt, "decode %s: %w", what, err)
	}
	return nil
}

// Schema returns the schema number of a payload; errors as for DecodeEntry.
func (r Records) Schema(payload []byte) (uint16, error) { return r.schema("record", payload) }

// EncodeEntry returns an entry's stored form. The same entry gives the same
// bytes. JSON in it is stored without white space between its parts.
func (r Records) EncodeEntry(e *Entry) ([]byte, error) { return r.encodeEntry(e) }

// EncodeEntryAgain is EncodeEntry for an entry that was read from a payload and takes its
// place: it keeps the fields of a newer program that the payload has, also those within its
// message and the other parts that are not JSON.
func (r Records) EncodeEntryAgain(e *Entry, payload []byte) ([]byte, error) {
	return r.encodeEntryAgain(e, payload)
}

// DecodeEntry reads a stored entry; what no program wrote is core.CodeCorrupt,
// what a newer one wrote is ErrSchema.
func (r Records) DecodeEntry(b []byte) (Entry, error) { return r.decodeEntry(b, &entryDecoder{}) }

// EncodeQueued returns an input's stored form. The same input gives the same
// bytes.
func (r Records) EncodeQueued(q *Queued) ([]byte, error) {
	b, err := r.encode("queued input", q)
	if err != nil || len(q.Unknown) == 0 {
		return b, err
	}
	return q.Unknown.AppendTo(b), nil
}

// DecodeQueued reads a stored input; errors as for DecodeEntry.
func (r Records) DecodeQueued(b []byte) (Queued, error) { return decode[Queued](r, "queued input", b) }

// DecodeWholeQueued is DecodeQueued for who writes the input again: it takes the fields of
// a newer program along, which most readers need not pay for.
func (r Records) DecodeWholeQueued(b []byte) (Queued, error) {
	q, err := r.DecodeQueued(b)
	if err != nil {
		return q, err
	}
	if q.Unknown, err = UnknownIn(b, q, "schema", extraField); err != nil {
		return q, core.Errorf(core.CodeCorrupt, "decode queued input: %w", err)
	}
	return q, nil
}

// EncodeAudit returns an audit's stored form.
func (r Records) EncodeAudit(a AuditRecord) ([]byte, error) { return r.encode("audit", &a) }

// DecodeAudit reads a stored audit; errors as for DecodeEntry.
func (r Records) DecodeAudit(b []byte) (AuditRecord, error) {
	return decode[AuditRecord](r, "audit", b)
}

// EncodeRun returns a run record's stored form, with the fields of a newer
// program that it was read with.
func (r Records) EncodeRun(run *RunRecord) ([]byte, error) {
	b, err := r.encode("run record", run)
	if err != nil || len(run.Unknown) == 0 {
		return b, err
	}
	return run.Unknown.AppendTo(b), nil
}

// DecodeRun reads a stored run record; errors as for DecodeEntry.
func (r Records) DecodeRun(b []byte) (RunRecord, error) {
	run, err := decode[RunRecord](r, "run record", b)
	if err != nil {
		return run, err
	}
	run.Unknown, err = UnknownIn(b, run, "schema", extraField)
	if err != nil {
		return run, core.Errorf(core.CodeCorrupt, "decode run record: %w", err)
	}
	return run, nil
}

// EncodeListing returns a listing's stored form.
func (r Records) EncodeListing(l *Listing) ([]byte, error) { return r.encode("listing", l) }

// DecodeListing reads a stored listing; errors as for DecodeEntry.
func (r Records) DecodeListing(b []byte) (Listing, error) { return decode[Listing](r, "listing", b) }

// EncodeAbout returns the stored form of a thread's data, with the fields of a newer
// program that it was read with.
func (r Records) EncodeAbout(a *About) ([]byte, error) {
	b, err := r.encode("thread record", a)
	if err != nil || len(a.Unknown) == 0 {
		return b, err
	}
	return a.Unknown.AppendTo(b), nil
}

// DecodeAbout reads a thread's data; errors as for DecodeEntry.
func (r Records) DecodeAbout(b []byte) (About, error) {
	a, err := decode[About](r, "thread record", b)
	if err != nil {
		return a, err
	}
	if a.Unknown, err = UnknownIn(b, a, "schema", extraField); err != nil {
		return a, core.Errorf(core.CodeCorrupt, "decode thread record: %w", err)
	}
	return a, nil
}
