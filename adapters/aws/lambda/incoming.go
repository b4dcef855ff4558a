package lambda

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/core"
)

// arrival is one event of a payload.
type arrival struct {
	incoming.Event
	item   string // by which a batch names it when it fails; empty: the payload is not a batch
	group  string // of an SQS FIFO queue: events of a group keep their order
	broken error  // it is not what its source documents
}

// knownShapes lists the events that a function with triggers accepts, for errors.
const knownShapes = `an EventBridge event (version, id, detail-type, source, detail), Records of aws:s3, aws:sns, aws:sqs or aws:dynamodb, and {"trigger", "time"} of a schedule`

// ReadEvents splits a payload of Lambda into events for triggers. It recognizes the
// source by the keys that AWS documents. A payload of an unknown shape is an error with
// code [core.CodeInvalid], which lists the keys of the payload.
func ReadEvents(payload json.RawMessage) ([]incoming.Event, error) {
	arrivals, err := readArrivals(payload)
	if err != nil {
		return nil, err
	}
	events := make([]incoming.Event, len(arrivals))
	for i, a := range arrivals {
		if a.broken != nil {
			return nil, a.broken
		}
		events[i] = a.Event
	}
	return events, nil
}

// fields are the members of a JSON object.
type fields map[string]json.RawMessage

func (f fields) has(names ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return len(f[n]) == 0 })
}

// text is a member that must be a text which is not empty.
func (f fields) text(name string) (string, error) {
	var s string
	if raw, ok := f[name]; !ok || json.Unmarshal(raw, &s) != nil || s == "" {
		return "", core.Errorf(core.CodeInvalid, "%s must be a text that is not empty", name)
	}
	return s, nil
}

// object is a member that must be an object.
func (f fields) object(name string) (o fields, err error) {
	if raw, ok := f[name]; !ok || json.Unmarshal(raw, &o) != nil || o == nil {
		return nil, core.Errorf(core.CodeInvalid, "%s must be an object", name)
	}
	return o, nil
}

// put replaces a member.
func (f fields) put(name string, value any) {
	f[name], _ = core.EncodeJSON(value) // texts and decoded JSON always encode
}

func readArrivals(payload json.RawMessage) ([]arrival, error) {
	var top fields
	if err := json.Unmarshal(payload, &top); err != nil || top == nil {
		return nil, core.Errorf(core.CodeInvalid, "the event is not a JSON object, known are %s", knownShapes)
	}
	switch {
	case top.has("Records"):
		return readRecords(top["Records"])
	case top.has("version", "id", "detail-type", "source", "detail"):
		a := arrival{Event: incoming.Event{Source: incoming.EventBridge, Data: payload}}
		a.ID, a.broken = top.text("id")
		return []arrival{a}, a.broken
	case top.has("trigger", "time") && len(top) == 2:
		a, err := moment(top, payload)
		return []arrival{a}, err
	}
	names := "no keys"
	if len(top) > 0 {
		names = "the keys " + core.Excerpt(strings.Join(slices.Sorted(maps.Keys(top)), ", "))
	}
	return nil, core.Errorf(core.CodeInvalid, "the event has %s, known are %s", names, knownShapes)
}

// moment is an event of a schedule. Two processes make the same event of the same time.
func moment(top fields, payload json.RawMessage) (a arrival, err error) {
	trigger, err := top.text("trigger")
	if err != nil {
		return a, err
	}
	when, err := top.text("time")
	if err != nil {
		return a, err
	}
	at, err := time.Parse(time.RFC3339, when)
	if err != nil {
		return a, core.Errorf(core.CodeInvalid, "time %q is not of RFC 3339, such as 2026-11-22T05:00:00Z", core.Excerpt(when))
	}
	return arrival{Event: incoming.Moment(trigger, at, payload)}, nil
}

// readRecords reads a list of records, all of which are of the first one's source. A
// record that is not as its source documents is broken, and is an error for itself only.
func readRecords(raw json.RawMessage) ([]arrival, error) {
	var records []fields
	if err := json.Unmarshal(raw, &records); err != nil || len(records) == 0 {
		return nil, core.Errorf(core.CodeInvalid, "Records must be a list of objects that is not empty, known are %s", knownShapes)
	}
	name := sourceOf(records[0])
	read := map[string]func(fields) (arrival, error){
		"aws:s3": readS3, "aws:sns": readSNS, "aws:sqs": readSQS, "aws:dynamodb": readChange,
	}[name]
	if read == nil {
		return nil, core.Errorf(core.CodeInvalid, "the event has records of source %q, known are %s", core.Excerpt(name), knownShapes)
	}
	arrivals := make([]arrival, len(records))
	for i, record := range records {
		if other := sourceOf(record); other != name {
			return nil, core.Errorf(core.CodeInvalid, "Records[%d] is of source %q, the first one of %q", i, core.Excerpt(other), name)
		}
		a, err := read(record)
		if err != nil {
			a.broken = core.Errorf(core.CodeInvalid, "Records[%d]: %w", i, err)
		}
		arrivals[i] = a
	}
	return arrivals, nil
}

// sourceOf is a record's source; only SNS begins the key with a capital letter.
func sourceOf(record fields) string {
	for _, key := range []string{"eventSource", "EventSource"} {
		if s, err := record.text(key); err == nil {
			return s
		}
	}
	return ""
}

// readS3 adds the plain key to a record: S3 encodes it as forms do. A key alone may be
// written often; the sequencer tells the times apart.
func readS3(record fields) (a arrival, err error) {
	a.Source = incoming.S3
	entity, err := record.object("s3")
	if err != nil {
		return a, err
	}
	bucket, err := entity.object("bucket")
	if err != nil {
		return a, err
	}
	object, err := entity.object("object")
	if err != nil {
		return a, err
	}
	parts := make([]string, 4)
	for i, part := range []struct {
		of   fields
		name string
	}{{record, "eventName"}, {bucket, "name"}, {object, "key"}, {object, "sequencer"}} {
		if parts[i], err = part.of.text(part.name); err != nil {
			return a, err
		}
	}
	plain, err := url.QueryUnescape(parts[2])
	if err != nil {
		return a, core.Errorf(core.CodeInvalid, "key %q: %w", core.Excerpt(parts[2]), err)
	}
	object.put("urlDecodedKey", plain)
	entity.put("object", object)
	record.put("s3", entity)
	a.ID, a.Data = strings.Join(parts, " "), encoded(record)
	return a, nil
}

func readSNS(record fields) (a arrival, err error) {
	a.Source = incoming.SNS
	message, err := record.object("Sns")
	if err != nil {
		return a, err
	}
	if a.ID, err = message.text("MessageId"); err != nil {
		return a, err
	}
	message.open("Message")
	a.Data = encoded(message)
	return a, nil
}

func readSQS(record fields) (a arrival, err error) {
	a.Source = incoming.SQS
	if a.ID, err = record.text("messageId"); err != nil {
		return a, err
	}
	a.item = a.ID
	if attributes, err := record.object("attributes"); err == nil {
		a.group, _ = attributes.text("MessageGroupId")
	}
	if arn, _ := record.text("eventSourceARN"); !strings.HasSuffix(arn, ".fifo") {
		a.group = "" // of a standard queue it says nothing about order
	}
	if !record.has("body") {
		return a, core.Errorf(core.CodeInvalid, "body is missing")
	}
	record.open("body")
	a.Data = encoded(record)
	return a, nil
}

// readChange reads a record of a table's stream, whose items are named by their
// sequence number.
func readChange(record fields) (a arrival, err error) {
	a.Source = incoming.DynamoDB
	change, err := record.object("dynamodb")
	if err != nil {
		return a, err
	}
	if a.item, err = change.text("SequenceNumber"); err != nil {
		return a, err
	}
	if a.ID, err = record.text("eventID"); err != nil {
		return a, err
	}
	a.Data = encoded(record)
	return a, nil
}

// open puts the JSON object or list that a text holds in the text's place, so that
// filters and templates see into it. Other texts stay.
func (f fields) open(name string) {
	text, err := f.text(name)
	if err != nil {
		return
	}
	inside := bytes.TrimSpace([]byte(text))
	if len(inside) > 0 && (inside[0] == '{' || inside[0] == '[') && json.Valid(inside) {
		f[name] = inside
	}
}

func encoded(record fields) json.RawMessage {
	b, _ := core.EncodeJSON(record) // decoded JSON always encodes
	return b
}
