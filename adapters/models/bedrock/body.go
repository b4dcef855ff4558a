package bedrock

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
)

// body reads a stream of events one by one. It fails at one that is too long: the SDK takes
// any. It marks halves of characters, which the SDK would replace, see wire.MarkHalves.
type body struct {
	io.ReadCloser
	limited io.Reader    // what is read of it, see wire.Limit
	event   bytes.Buffer // what is not read yet of the newest event
}

func newBody(stream io.ReadCloser) *body {
	return &body{ReadCloser: stream, limited: wire.Limit(stream)}
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	for b.event.Len() == 0 {
		if err := b.next(); err != nil && b.event.Len() == 0 {
			return 0, err
		}
	}
	return b.event.Read(p)
}

// next reads an event. Where the stream ends within one, its beginning is there.
func (b *body) next() error {
	if _, err := io.CopyN(&b.event, b.limited, 4); err != nil {
		return err
	}
	length := int64(binary.BigEndian.Uint32(b.event.Bytes()))
	if length > wire.MaxEvent {
		b.event.Reset()
		return wire.ErrTooLong
	}
	if _, err := io.CopyN(&b.event, b.limited, max(length-4, 0)); err != nil {
		return err
	}
	b.mark()
	return nil
}

// mark marks the halves of characters in the event. An event that cannot be decoded stays
// as it is, and the SDK returns its error.
func (b *body) mark() {
	if !bytes.Contains(b.event.Bytes(), []byte(`\u`)) {
		return
	}
	message, err := eventstream.NewDecoder().Decode(bytes.NewReader(b.event.Bytes()), nil)
	if err != nil {
		return
	}
	marked := wire.MarkHalves(message.Payload)
	if bytes.Equal(marked, message.Payload) {
		return
	}
	message.Payload = marked
	var event bytes.Buffer
	if eventstream.NewEncoder().Encode(&event, message) == nil {
		b.event = event
	}
}
