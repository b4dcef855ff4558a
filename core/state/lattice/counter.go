package lattice

import (
	"encoding/json"
	"maps"
	"math"

	"github.com/reveille-run/reveille/core"
)

// GCounter is a sum that only grows. Each actor has a separate share, which is the largest
// that it has reported, so that a share that arrives twice counts once. Its JSON is an
// object of the shares by actor.
type GCounter struct {
	shares map[string]uint64
}

// Add returns the counter to merge so that an actor's share in c grows by n. Only one
// hook at a time may add for an actor: of two that read the same c, the larger counts. An
// actor that counts once, such as a tool call, is named by its id and adds to the zero
// GCounter.
func (c GCounter) Add(actor string, n uint64) GCounter {
	share := sum(c.shares[actor], n)
	if share == 0 {
		return GCounter{}
	}
	return GCounter{map[string]uint64{actor: share}}
}

// Share returns what an actor has counted.
func (c GCounter) Share(actor string) uint64 { return c.shares[actor] }

// Value returns the sum of all shares; it ends at the largest uint64.
func (c GCounter) Value() uint64 {
	var total uint64
	for _, n := range c.shares {
		total = sum(total, n)
	}
	return total
}

// Merge returns the counter with the larger share of each actor.
func (c GCounter) Merge(d GCounter) GCounter {
	merged := make(map[string]uint64, len(c.shares)+len(d.shares))
	maps.Copy(merged, c.shares)
	for actor, n := range d.shares {
		merged[actor] = max(merged[actor], n)
	}
	return GCounter{merged}
}

// MarshalJSON implements json.Marshaler.
func (c GCounter) MarshalJSON() ([]byte, error) {
	if c.shares == nil {
		return []byte("{}"), nil
	}
	return core.EncodeJSON(c.shares)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *GCounter) UnmarshalJSON(text []byte) error {
	c.shares = nil
	if err := json.Unmarshal(text, &c.shares); err != nil {
		return err
	}
	maps.DeleteFunc(c.shares, func(_ string, n uint64) bool { return n == 0 })
	return nil
}

func sum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
