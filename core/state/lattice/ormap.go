package lattice

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
)

// ORMap is a map with removal whose members are lattices. A member is in it as long as
// one of its tags has not been removed; its value is the merge of what was put under
// those. Its JSON is {"members":{name:{tag:value}},"removed":[tag, ...]}, sorted.
type ORMap[V interface{ Merge(V) V }] struct {
	members map[string]map[core.ID]V // without what was removed
	removed tags
}

// Putting returns the map to merge so that the value is merged into a member. The tag
// must be new: see the package's comment.
func (ORMap[V]) Putting(tag core.ID, member string, value V) ORMap[V] {
	return ORMap[V]{members: map[string]map[core.ID]V{member: {tag: value}}}
}

// Removing returns the map to merge so that the members are not in it any more, as far
// as m knows of what was put there. A value that was put at the same time stays, alone.
func (m ORMap[V]) Removing(members ...string) ORMap[V] {
	gone := ORMap[V]{removed: tags{}}
	for _, name := range members {
		for tag := range m.members[name] {
			gone.removed[tag] = struct{}{}
		}
	}
	return gone
}

// Member returns the value of a member; ok is false when it is not there.
func (m ORMap[V]) Member(name string) (value V, ok bool) {
	for _, v := range m.members[name] {
		value, ok = value.Merge(v), true
	}
	return value, ok
}

// Len returns how many members the map has.
func (m ORMap[V]) Len() int { return len(m.members) }

// Names returns the names of the members, sorted.
func (m ORMap[V]) Names() []string { return slices.Sorted(maps.Keys(m.members)) }

// Merge returns the map of what either has put and neither has seen removed.
func (m ORMap[V]) Merge(o ORMap[V]) ORMap[V] {
	merged := ORMap[V]{members: make(map[string]map[core.ID]V, len(m.members)+len(o.members)), removed: m.removed.union(o.removed)}
	for _, side := range []map[string]map[core.ID]V{m.members, o.members} {
		for name, values := range side {
			merged.put(name, values)
		}
	}
	return merged
}

// put merges values into a member, but for those that were removed.
func (m ORMap[V]) put(name string, values map[core.ID]V) {
	for tag, v := range values {
		if m.removed.has(tag) {
			continue
		}
		if m.members[name] == nil {
			m.members[name] = map[core.ID]V{}
		}
		if there, ok := m.members[name][tag]; ok {
			v = there.Merge(v)
		}
		m.members[name][tag] = v
	}
}

type ormapJSON[V any] struct {
	Members map[string]map[core.ID]V `json:"members"`
	Removed []core.ID                `json:"removed"`
}

// MarshalJSON implements json.Marshaler.
func (m ORMap[V]) MarshalJSON() ([]byte, error) {
	out := ormapJSON[V]{Members: m.members, Removed: m.removed.sorted()}
	if out.Members == nil {
		out.Members = map[string]map[core.ID]V{}
	}
	if out.Removed == nil {
		out.Removed = []core.ID{}
	}
	return core.EncodeJSON(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *ORMap[V]) UnmarshalJSON(text []byte) error {
	var in ormapJSON[V]
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*m = ORMap[V]{members: make(map[string]map[core.ID]V, len(in.Members)), removed: tagsOf(in.Removed)}
	for name, values := range in.Members {
		m.put(name, values)
	}
	return nil
}
