package thread

import (
	"slices"

	"github.com/reveille-run/reveille/core"
)

// encodeEntryAgain encodes an entry that was read from a payload: at each level with the
// fields of that payload that are not this program's. A part of a list takes them from the
// part in its place, if the list has as many as before.
func (r Records) encodeEntryAgain(e *Entry, payload []byte) ([]byte, error) {
	b, err := r.encodeEntry(e)
	if err != nil {
		return nil, err
	}
	var d entryDecoder
	b = d.merge(&levelEntry, b, payload)
	if d.err != nil {
		return nil, core.Errorf(core.CodeCorrupt, "decode log entry: %w", d.err)
	}
	return b, nil
}

// stored is a field as it is stored.
type stored struct {
	number int
	all    []byte // tag and value
	value  []byte // of bytes
}

// fields are all those of a level, in their order.
func (d *entryDecoder) fields(l *level, b []byte) (all []stored) {
	r := fieldReader{d: d, level: l}
	for len(b) > 0 && d.err == nil {
		r.bytes = nil
		rest := r.field(b)
		all = append(all, stored{r.number, b[:len(b)-len(rest)], r.bytes})
		b = rest
	}
	return all
}

// merge returns what is written of a level, with the unknown fields of what was read.
func (d *entryDecoder) merge(l *level, written, read []byte) []byte {
	now, then := d.fields(l, written), d.fields(l, read)
	unknown := slices.DeleteFunc(slices.Clone(then), func(f stored) bool { return l.has(f.number) })
	merged := make([]byte, 0, len(written)+len(read))
	for i, f := range now {
		for len(unknown) > 0 && unknown[0].number < f.number {
			merged, unknown = append(merged, unknown[0].all...), unknown[1:]
		}
		if inner, was := l.part(f.number), counterpart(now, then, i); inner != nil && was != nil {
			w := fieldWriter{b: merged}
			w.whole(f.number, d.merge(inner, f.value, was.value))
			merged = w.b
			continue
		}
		merged = append(merged, f.all...)
	}
	for _, f := range unknown {
		merged = append(merged, f.all...)
	}
	return merged
}

// counterpart is the field that was in the place of the i-th; nil: none, or a list has
// another length.
func counterpart(now, then []stored, i int) *stored {
	same := func(list []stored) (n int) {
		for _, f := range list {
			if f.number == now[i].number {
				n++
			}
		}
		return n
	}
	if same(now) != same(then) {
		return nil
	}
	before := same(now[:i])
	for k := range then {
		if then[k].number != now[i].number {
			continue
		}
		if before == 0 {
			return &then[k]
		}
		before--
	}
	return nil
}
