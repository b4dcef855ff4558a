package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/reveille-run/reveille/core/model"
)

// MaxEvent is the size limit of an event of a stream, and of each of its lines, in bytes:
// 16 MB, which is more than the images and signatures of models take.
const MaxEvent = 16 << 20

// ErrTooLong is the error of an event over [MaxEvent]: a permanent one, since another
// attempt would most likely get an event as long.
var ErrTooLong error = Failure{Kind: model.KindInvalid, Message: "an event of the stream is longer than 16 MB, the limit"}

// MaxStream is the size limit of a stream, in bytes: 256 MB, several times the longest turn
// of a model with the other members of its events. It bounds what an adapter collects
// before it yields it.
const MaxStream = 256 << 20

// ErrStreamTooLong is the error of a stream over [MaxStream], which is permanent, too.
var ErrStreamTooLong error = Failure{Kind: model.KindInvalid, Message: "the stream is longer than 256 MB, the limit"}

// maxSilent is the size limit of the events of a stream that have no delta, in bytes: 64 MB.
// An adapter collects parts of them, such as signatures, until a block is whole.
const maxSilent = 64 << 20

var errSilent error = Failure{Kind: model.KindInvalid, Message: "the events of the stream that say nothing are longer than 64 MB, the limit"}

// Limit returns a reader of body that fails with [ErrStreamTooLong] after MaxStream bytes.
func Limit(body io.Reader) io.Reader { return &limited{body, MaxStream} }

type limited struct {
	body io.Reader
	left int // bytes
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.body.Read(p)
	if n > l.left {
		return l.left, ErrStreamTooLong
	}
	l.left -= n
	return n, err
}

// Event is one server-sent event that has data.
type Event struct {
	Name string // "" or the event line's value
	Data []byte // without the space around it; valid until the next event
}

// decoder cuts a response body into server-sent events. It knows the lines that
// providers send: data, event and comments, ended by LF or CR LF. Ids, retry
// times and unknown fields are skipped.
type decoder struct {
	in    *bufio.Reader
	line  []byte
	data  []byte
	first bool
}

func newDecoder(body io.Reader) *decoder {
	return &decoder{in: bufio.NewReaderSize(Limit(body), 8<<10), first: true}
}

// next returns the next event. At the end of the body it returns io.EOF; an
// event that the end cuts off before its blank line is still returned, since
// some servers end so after [DONE].
func (d *decoder) next() (Event, error) {
	var e Event
	lines := 0
	d.data = d.data[:0]
	for {
		line, err := d.readLine()
		if err != nil && (err != io.EOF || len(line) == 0) {
			if err == io.EOF && lines > 0 {
				break
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if lines > 0 {
				break
			}
			e.Name = ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":")) // a comment has an empty name
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if lines > 0 {
				d.data = append(d.data, '\n')
			}
			lines++
			if len(d.data)+len(value) > MaxEvent {
				return Event{}, ErrTooLong
			}
			d.data = append(d.data, value...)
		case "event":
			e.Name = string(value)
		}
	}
	e.Data = bytes.TrimSpace(d.data)
	return e, nil
}

// readLine returns a line without its end, valid until the next call. The last
// line may come with io.EOF.
func (d *decoder) readLine() ([]byte, error) {
	line, err := d.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		d.line = d.line[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(d.line)+len(line) > MaxEvent {
				return nil, ErrTooLong
			}
			d.line = append(d.line, line...)
			line, err = d.in.ReadSlice('\n')
		}
		d.line = append(d.line, line...)
		line = d.line
	}
	if d.first {
		d.first = false
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > MaxEvent {
		return nil, ErrTooLong
	}
	return line, err
}
