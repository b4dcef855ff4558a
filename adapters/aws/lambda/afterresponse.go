package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
)

// AfterResponse returns handler with a function, done, that is called after the response
// of an invocation is posted and before the process asks for the next invocation. Only
// then may a process exit without harm to a caller. done is not called for an invocation
// whose handler returns an error. The handlers of this package return their errors in the
// response, except for events of an unknown shape.
//
// All that handler started has ended when done is called: a streamed response is closed
// first.
func AfterResponse[E, R any](handler func(context.Context, E) (R, error), done func()) func(context.Context, E) (any, error) {
	return func(ctx context.Context, event E) (any, error) {
		response, err := handler(ctx, event)
		if err != nil {
			return nil, err
		}
		if r, ok := any(response).(io.Reader); ok {
			return &posted{reader: r, contentType: typeOf(r), done: done}, nil
		}
		body, err := json.Marshal(response)
		if err != nil {
			return nil, err
		}
		return &posted{reader: bytes.NewReader(body), contentType: "application/json", done: done}, nil
	}
}

// posted is a response as the runtime client takes it without encoding it: it
// reads it to its end, posts it, and closes it. It has no exported field, or the
// client would encode it.
type posted struct {
	reader      io.Reader
	contentType string
	done        func()
}

func typeOf(r io.Reader) string {
	if typed, ok := r.(interface{ ContentType() string }); ok {
		return typed.ContentType()
	}
	return "application/octet-stream"
}

// Read implements io.Reader.
func (p *posted) Read(b []byte) (int, error) { return p.reader.Read(b) }

// ContentType is what the runtime client sends with the response.
func (p *posted) ContentType() string { return p.contentType }

// Close implements io.Closer.
func (p *posted) Close() (err error) {
	if c, ok := p.reader.(io.Closer); ok {
		err = c.Close()
	}
	p.done()
	return err
}
