package httpapi

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/reveille-run/reveille/core"
)

// members appends the members of a JSON object to text, which has its first one.
// A member with a zero value is omitted. It writes what encoding/json writes without the
// escaping of <, > and &, and allocates nothing but the text.
type members struct {
	text    []byte
	compact bytes.Buffer // has text while JSON is compacted into it
	err     error        // a value is not JSON
}

// name begins a member.
func (m *members) name(name string) {
	m.text = append(m.text, ',', '"')
	m.text = append(m.text, name...)
	m.text = append(m.text, '"', ':')
}

// string appends a text.
func (m *members) string(name, value string) {
	if value != "" {
		m.name(name)
		m.text = core.AppendJSONString(m.text, value)
	}
}

// int appends a number.
func (m *members) int(name string, value int64) {
	if value != 0 {
		m.name(name)
		m.text = strconv.AppendInt(m.text, value, 10)
	}
}

// raw appends a value that is JSON, without its blanks.
func (m *members) raw(name string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	m.name(name)
	m.compact = *bytes.NewBuffer(m.text)
	if err := json.Compact(&m.compact, value); err != nil && m.err == nil {
		m.err = err
	}
	m.text = m.compact.Bytes()
}

// usage appends numbers of tokens.
func (m *members) usage(name string, u *core.Usage) {
	if u == nil {
		return
	}
	m.name(name)
	begin := len(m.text)
	m.int("input", int64(u.Input))
	m.int("output", int64(u.Output))
	m.int("cache_read", int64(u.CacheRead))
	m.int("cache_write", int64(u.CacheWrite))
	m.int("reasoning", int64(u.Reasoning))
	m.int("cache_write_hour", int64(u.CacheWriteHour))
	if l := u.Long; l != nil {
		m.name("long")
		long := len(m.text)
		m.int("input", int64(l.Input))
		m.int("output", int64(l.Output))
		m.int("cache_read", int64(l.CacheRead))
		m.int("cache_write", int64(l.CacheWrite))
		m.int("cache_write_hour", int64(l.CacheWriteHour))
		m.end(long)
	}
	m.end(begin)
}

// termination appends how a run has ended.
func (m *members) termination(name string, t *core.Termination) {
	if t == nil {
		return
	}
	m.name(name)
	begin := len(m.text)
	m.name("type")
	m.text = core.AppendJSONString(m.text, string(t.Type))
	m.string("code", t.Code)
	m.string("detail", t.Detail)
	m.end(begin)
}

// end ends an object whose members begin at a place of the text: the comma before the
// first one becomes its brace.
func (m *members) end(begin int) {
	if len(m.text) == begin {
		m.text = append(m.text, '{')
	}
	m.text[begin] = '{'
	m.text = append(m.text, '}')
}
