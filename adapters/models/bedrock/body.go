package bedrock

import (
	"encoding/binary"
	"errors"
	"io"
)

// maxEvent is the longest event of a stream in bytes. The SDK takes any.
const maxEvent = 1 << 20

var errEventTooLong = errors.New("an event of the stream is longer than 1 MB")

// body reads a stream of events, and fails at one that is too long.
type body struct {
	io.ReadCloser
	left int     // bytes until the next event
	head [4]byte // its length
	have int     // bytes of head that are there
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	for part := p[:n]; len(part) > 0; {
		if b.left > 0 {
			k := min(b.left, len(part))
			b.left -= k
			part = part[k:]
			continue
		}
		k := copy(b.head[b.have:], part)
		part = part[k:]
		if b.have += k; b.have < len(b.head) {
			continue
		}
		length := int64(binary.BigEndian.Uint32(b.head[:]))
		if length > maxEvent {
			return 0, errEventTooLong
		}
		b.have, b.left = 0, max(int(length)-len(b.head), 0)
	}
	return n, err
}
