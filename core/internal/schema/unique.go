package schema

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"math/big"
	"slices"
)

// unique counts the work to tell whether all items of a list differ. The validator writes
// each item to a hash, and compares those whose hashes are the same. The hashed text does
// not show where one text ends, nor null from false, so that a client can make all items of
// a list the same to it: then each is compared with every other.
func (m *measuring) unique(list []any) {
	if m.add(m.size(list) / 64); m.err != nil || len(list) < 2 {
		return
	}
	seed, same := maphash.MakeSeed(), map[uint64]int{}
	for _, item := range list {
		var h maphash.Hash
		h.SetSeed(seed)
		writeItem(&h, item)
		sum := h.Sum64()
		if m.add(same[sum] * (1 + m.size(item)/64)); m.err != nil {
			return
		}
		same[sum]++
	}
}

// writeItem writes to the hash what package jsonschema does.
func writeItem(h *maphash.Hash, value any) {
	switch v := value.(type) {
	case nil:
		_ = h.WriteByte(0)
	case bool:
		if v {
			_ = h.WriteByte(1)
		} else {
			_ = h.WriteByte(0)
		}
	case string:
		_, _ = h.WriteString(v)
	case float64:
		n := new(big.Rat)
		n.SetFloat64(v) // JSON has no other numbers than finite ones
		writeLength(h, n.Sign()+1)
		_, _ = h.Write(n.Num().Bytes())
		_, _ = h.Write(n.Denom().Bytes())
	case []any:
		writeLength(h, len(v))
		for _, item := range v {
			writeItem(h, item)
		}
	case map[string]any:
		writeLength(h, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			_, _ = h.WriteString(name)
			writeItem(h, v[name])
		}
	}
}

func writeLength(h *maphash.Hash, n int) {
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
}
