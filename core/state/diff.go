package state

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// maxDiffDepth is how many levels of a value a diff looks into, which bounds
// its time; what lies deeper is replaced.
const maxDiffDepth = 16

// Diff returns the patch that leads from the snapshot to another: for every key
// whose value differs the smaller, in bytes, of a diff and a replacement.
//
// The diff is ours, since what it must do is little: values are canonical, so
// that equal means the same bytes; lists grow and shrink at their ends or change
// in place; and wherever a replacement is smaller it wins, so that a longest
// common subsequence would rarely be worth its quadratic time.
func (s Snapshot) Diff(to Snapshot) Patch {
	keys := slices.Collect(maps.Keys(s.values))
	for key := range to.values {
		if _, both := s.values[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, KeyPath.Compare)
	var patch Patch
	for _, key := range keys {
		patch = append(patch, difference(key, s.values[key].bytes(), to.values[key].bytes())...)
	}
	return patch
}

// difference returns the operations that turn one value of a key into another; nil means no
// value.
func difference(key KeyPath, from, to json.RawMessage) Patch {
	path := key.String()
	switch {
	case bytes.Equal(from, to):
		return nil
	case from == nil:
		return Patch{{Op: opAdd, Path: path, Value: to}}
	case to == nil:
		return Patch{{Op: opRemove, Path: path}}
	default:
		return compare(path, from, to, maxDiffDepth)
	}
}

// compare returns the smaller of a diff of two values and a replacement.
func compare(path string, from, to []byte, depth int) Patch {
	if bytes.Equal(from, to) {
		return nil
	}
	replace := Operation{Op: opReplace, Path: path, Value: to}
	a, b := node{raw: from}, node{raw: to}
	if depth == 0 || a.open() != nil || b.open() != nil || a.kind != b.kind {
		return Patch{replace}
	}
	var patch Patch
	if a.kind == kindObject {
		patch = compareMembers(path, a.members, b.members, depth-1)
	} else {
		patch = compareItems(path, a.items, b.items, depth-1)
	}
	if patch.size() >= replace.size() {
		return Patch{replace}
	}
	return patch
}

func compareMembers(path string, from, to map[string]*node, depth int) Patch {
	var patch Patch
	for _, name := range slices.Sorted(maps.Keys(from)) {
		at := extend(path, name)
		if member, stays := to[name]; stays {
			patch = append(patch, compare(at, from[name].raw, member.raw, depth)...)
		} else {
			patch = append(patch, Operation{Op: opRemove, Path: at})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if _, was := from[name]; !was {
			patch = append(patch, Operation{Op: opAdd, Path: extend(path, name), Value: to[name].raw})
		}
	}
	return patch
}

// compareItems leaves the common beginning and end of two lists alone.
func compareItems(path string, from, to []*node, depth int) Patch {
	start := 0
	for start < min(len(from), len(to)) && bytes.Equal(from[start].raw, to[start].raw) {
		start++
	}
	end := 0
	for end < min(len(from), len(to))-start && bytes.Equal(from[len(from)-1-end].raw, to[len(to)-1-end].raw) {
		end++
	}
	from, to = from[start:len(from)-end], to[start:len(to)-end]
	var patch Patch
	same := min(len(from), len(to))
	for i := range same {
		patch = append(patch, compare(extend(path, strconv.Itoa(start+i)), from[i].raw, to[i].raw, depth)...)
	}
	for range from[same:] {
		patch = append(patch, Operation{Op: opRemove, Path: extend(path, strconv.Itoa(start+same))})
	}
	for i, item := range to[same:] {
		at := strconv.Itoa(start + same + i)
		if end == 0 {
			at = "-"
		}
		patch = append(patch, Operation{Op: opAdd, Path: extend(path, at), Value: item.raw})
	}
	return patch
}
