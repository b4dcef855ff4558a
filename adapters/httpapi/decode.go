package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// object is a JSON object that is taken apart key by key, so that a key that
// nobody takes can be named. encoding/json alone would accept keys in another
// case and keys that repeat.
type object struct {
	at      string // where it stands, for errors
	members []member
	asked   [maxKeys]string // the keys that it may have, as far as somebody asked for them
	asks    int             // how many those are
	left    func() error    // of the body: why it needs no decoding any more; nil: nothing says so
}

// maxKeys is the most keys that an object is asked for: those of a submission.
const maxKeys = 10

// member is a key and its value, valid JSON. A taken one is the zero member.
type member struct {
	key   string
	value json.RawMessage
}

// readObject reads the body of a request.
func readObject(r *http.Request) (object, error) {
	body := bodyOf(r)
	if len(body) == 0 {
		return object{}, core.Errorf(core.CodeInvalid, "body is empty, a JSON object is required")
	}
	return parseObject(body, r.Context().Err)
}

// readOptional is readObject for a request that may have no body.
func readOptional(r *http.Request) (object, error) {
	body := bodyOf(r)
	if len(body) == 0 {
		return object{at: "body"}, nil
	}
	return parseObject(body, r.Context().Err)
}

// noBody refuses a body with anything in it.
func noBody(r *http.Request) error {
	o, err := readOptional(r)
	if err != nil {
		return err
	}
	return o.end()
}

// bodyOf is what a request brought, but for blanks around it.
func bodyOf(r *http.Request) []byte {
	if read, ok := r.Body.(*whole); ok { // a request without a body has another one
		return bytes.TrimSpace(read.text)
	}
	return nil
}

// parseObject reads a body, unless its client has left.
func parseObject(body []byte, left func() error) (object, error) {
	if !json.Valid(body) {
		var syntax *json.SyntaxError
		err := json.Unmarshal(body, new(json.RawMessage)) // says what is wrong
		if errors.As(err, &syntax) {
			return object{}, core.Errorf(core.CodeInvalid, "body is not JSON at byte %d: %v", syntax.Offset, err)
		}
		return object{}, core.Errorf(core.CodeInvalid, "body is not JSON: %v", err)
	}
	o := object{at: "body", left: left}
	return o, o.split(bytes.TrimSpace(body))
}

// asObject splits valid JSON into the members of an object.
func asObject(at string, raw json.RawMessage) (object, error) {
	o := object{at: at}
	return o, o.split(raw)
}

// few is up to how many keys an object may have to be searched without an index.
const few = 16

func (o *object) split(raw json.RawMessage) error {
	if raw[0] != '{' {
		return core.Errorf(core.CodeInvalid, "%s must be a JSON object", o.at)
	}
	o.members = make([]member, 0, 4)
	var seen map[string]bool
	for rest := inside(raw); len(rest) > 0; {
		if err := o.leaving(len(o.members)); err != nil {
			return err
		}
		var key, value json.RawMessage
		key, rest = split(rest)
		value, rest = split(rest)
		name, err := unquote(key)
		if err != nil {
			return core.Errorf(core.CodeInvalid, "%s is not JSON", o.at)
		}
		if seen[name] || seen == nil && o.find(name) >= 0 {
			return core.Errorf(core.CodeInvalid, "%s has the key %q twice", o.at, core.Excerpt(name))
		}
		o.members = append(o.members, member{name, value})
		if len(o.members) == few {
			seen = map[string]bool{}
			for _, m := range o.members {
				seen[m.key] = true
			}
		} else if seen != nil {
			seen[name] = true
		}
	}
	return nil
}

// leaving asks now and then, behind n parts of the body, whether its client has left.
func (o *object) leaving(n int) error {
	if o.left == nil || n%256 != 0 {
		return nil
	}
	if err := o.left(); err != nil {
		return fmt.Errorf("decode the body: %w", err)
	}
	return nil
}

// find returns the index of the member of a key that was not taken; -1: none.
func (o *object) find(key string) int {
	return slices.IndexFunc(o.members, func(m member) bool { return m.value != nil && m.key == key })
}

// has reports whether a key is there that was not taken.
func (o *object) has(key string) bool { return o.find(key) >= 0 }

func (o *object) path(key string) string {
	if o.at == "body" {
		return key
	}
	return o.at + "." + key
}

// take removes and returns the value of a key that may be spelled in several
// ways, and how it is; found is false when it is absent.
func (o *object) take(names ...string) (taken string, raw json.RawMessage, found bool, err error) {
	o.ask(names[0])
	for _, name := range names {
		i := o.find(name)
		if i < 0 {
			continue
		}
		if found {
			return "", nil, false, core.Errorf(core.CodeInvalid, "%s has both %s and %s", o.at, taken, name)
		}
		taken, raw, found = name, o.members[i].value, true
		o.members[i] = member{}
	}
	if !found {
		taken = names[0]
	}
	return taken, raw, found, nil
}

// ask notes that a key may be there, once.
func (o *object) ask(key string) {
	if !slices.Contains(o.asked[:o.asks], key) {
		o.asked[o.asks] = key
		o.asks++
	}
}

// text takes an optional string.
func (o *object) text(names ...string) (string, error) {
	name, raw, found, err := o.take(names...)
	if err != nil || !found {
		return "", err
	}
	s, err := unquote(raw)
	if err != nil {
		return "", core.Errorf(core.CodeInvalid, "%s must be a string", o.path(name))
	}
	return s, nil
}

// number takes an optional whole number between two bounds, both allowed.
func (o *object) number(name string, least, most int64) (n int64, found bool, err error) {
	name, raw, found, err := o.take(name)
	if err != nil || !found {
		return 0, false, err
	}
	if n, err = whole64(raw); err != nil || n < least || n > most {
		return 0, false, core.Errorf(core.CodeInvalid, "%s must be a whole number from %d to %d", o.path(name), least, most)
	}
	return n, true, nil
}

// whole64 reads a whole number, also as 7.0 or 7e3: JSON has one kind of number, and
// some languages write it so.
func whole64(raw json.RawMessage) (int64, error) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err == nil && (f != math.Trunc(f) || math.Abs(f) >= 1<<53) { // beyond it a float is no exact number
		err = strconv.ErrRange
	}
	return int64(f), err
}

// request takes what is for the run's hooks and tools alone: any JSON, and null like
// an absent one.
func (o *object) request() (json.RawMessage, error) {
	_, raw, found, err := o.take("request")
	if err != nil || !found || string(raw) == "null" {
		return nil, err
	}
	return raw, nil
}

// end refuses keys that nobody took, and says which there are.
func (o *object) end() error {
	first := member{}
	for _, m := range o.members {
		if m.value != nil && (first.value == nil || m.key < first.key) {
			first = m
		}
	}
	if first.value == nil {
		return nil
	}
	allowed := "allowed are " + strings.Join(o.asked[:o.asks], ", ")
	if o.asks == 0 {
		allowed = "none is allowed"
	}
	return core.Errorf(core.CodeInvalid, "%s has the unknown key %q, %s", o.at, core.Excerpt(first.key), allowed)
}

// messages takes the required list of input messages.
func (o *object) messages() ([]core.Message, error) {
	name, raw, found, err := o.take("messages")
	if err != nil {
		return nil, err
	}
	path := o.path(name)
	if !found {
		return nil, core.Errorf(core.CodeInvalid, "%s is required", path)
	}
	items, err := list(path, raw)
	if err != nil {
		return nil, err
	}
	messages := make([]core.Message, 0, len(items))
	for i, item := range items {
		if err := o.leaving(i); err != nil {
			return nil, err
		}
		m, err := message(fmt.Sprintf("%s[%d]", path, i), item)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// message decodes {role, content, id?}. What its values must be is checked with
// the submission.
func message(at string, raw json.RawMessage) (core.Message, error) {
	var m core.Message
	o, err := asObject(at, raw)
	if err != nil {
		return m, err
	}
	id, err := o.text("id")
	if err != nil {
		return m, err
	}
	role, err := o.text("role")
	if err != nil {
		return m, err
	}
	name, content, found, err := o.take("content")
	if err != nil {
		return m, err
	}
	path := o.path(name)
	if !found {
		return m, core.Errorf(core.CodeInvalid, "%s is required", path)
	}
	blocks, err := blocks(path, content)
	if err != nil {
		return m, err
	}
	return core.Message{ID: id, Role: core.Role(role), Content: blocks}, o.end()
}

// blocks decodes content: a string, or a list of {type: "text", text} and {type:
// "file", media_type, data or url, filename?}.
func blocks(at string, raw json.RawMessage) ([]core.Block, error) {
	if raw[0] == '"' {
		text, err := unquote(raw)
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, "%s: %v", at, err)
		}
		return []core.Block{{Type: core.BlockText, Text: text}}, nil
	}
	items, err := list(at, raw)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "%s must be a string or a list of text and file blocks", at)
	}
	var blocks []core.Block
	for i, item := range items {
		b, err := block(fmt.Sprintf("%s[%d]", at, i), item)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return slices.Clip(blocks), nil
}

// block decodes one item of content. What a file must have is checked with the
// submission.
func block(at string, item json.RawMessage) (b core.Block, err error) {
	o, err := asObject(at, item)
	if err != nil {
		return b, err
	}
	kind, err := o.text("type")
	if err != nil {
		return b, err
	}
	b.Type = core.BlockType(kind)
	switch b.Type {
	case core.BlockText:
		if b.Text, err = o.text("text"); err != nil {
			return b, err
		}
	case core.BlockFile:
		var data string
		for _, field := range []struct {
			name string
			to   *string
		}{{"media_type", &b.MediaType}, {"data", &data}, {"url", &b.URL}, {"filename", &b.Filename}} {
			if *field.to, err = o.text(field.name); err != nil {
				return b, err
			}
		}
		if b.Data, err = base64.StdEncoding.DecodeString(data); err != nil {
			return b, core.Errorf(core.CodeInvalid, "%s.data is not base64: %v", at, err)
		}
	default:
		return b, core.Errorf(core.CodeUnsupported, "%s: type %q is not supported, allowed are text and file", o.at, core.Excerpt(kind))
	}
	return b, o.end()
}

func list(at string, raw json.RawMessage) (items []json.RawMessage, err error) {
	if raw[0] != '[' {
		return nil, core.Errorf(core.CodeInvalid, "%s must be a list", at)
	}
	for rest := inside(raw); len(rest) > 0; {
		var item json.RawMessage
		item, rest = split(rest)
		items = append(items, item)
	}
	return items, nil
}
