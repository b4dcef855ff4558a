package tool

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// NewID returns an id that is derived from the call's Key and a name that the tool
// chooses: the call gets the same id when it runs again, and no other call does.
func (c Call) NewID(name string) core.ID {
	h := sha256.New()
	for _, part := range []string{c.Key(), name} {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part)))) // a hash never fails
		_, _ = h.Write([]byte(part))
	}
	return wire.DerivedID(h.Sum(nil))
}
