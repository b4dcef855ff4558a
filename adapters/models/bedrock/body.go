package bedrock

import (
	"encoding/binary"
	"io"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
)

// body reads a stream of events, and fails at one that is too long: the SDK takes any.
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
		if length > wire.MaxEvent {
			return 0, wire.ErrTooLong
		}
		b.have, b.left = 0, max(int(length)-len(b.head), 0)
	}
	return n, err
}
