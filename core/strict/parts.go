package strict

import "reflect"

// object calls a function at the value of each member. The offset is that of the name.
// It refuses names that are given twice.
func (d *decoder) object(member func(name string, offset int) *Error) *Error {
	if err := d.opened(); err != nil {
		return err
	}
	var seen names
	for d.more('}') {
		begin := d.at
		name, err := d.name()
		if err != nil {
			return err
		}
		if !seen.add(name) {
			return problem(begin, "is given twice").Within(name)
		}
		if err := member(name, begin); err != nil {
			return err.Within(name)
		}
		d.skipSpace()
	}
	return nil
}

// name reads a name, and goes to its value.
func (d *decoder) name() (string, *Error) {
	if err := d.part(); err != nil {
		return "", err
	}
	raw, plain := d.nameText()
	name, _ := unquote(raw, plain) // a name is a string
	return name, nil
}

// nameText reads a name as it is written, and goes to its value.
func (d *decoder) nameText() (raw []byte, plain bool) {
	begin := d.at
	d.at, plain = endOfString(d.data, begin)
	raw = d.data[begin:d.at]
	d.skipSpace()
	d.at++ // the colon
	d.skipSpace()
	return raw, plain
}

// list calls a function at each item.
func (d *decoder) list(item func(i int) *Error) *Error {
	if err := d.opened(); err != nil {
		return err
	}
	for i := 0; d.more(']'); i++ {
		err := d.part()
		if err == nil {
			err = item(i)
		}
		if err != nil {
			return err.Within(string(Path("").Item(i)))
		}
		d.skipSpace()
	}
	return nil
}

// names is a set of names.
type names struct {
	few  []string
	many map[string]struct{}
}

// fewNames is up to how many names are compared one by one.
const fewNames = 16

// add reports whether the name is new.
func (n *names) add(name string) bool {
	if n.many == nil {
		for _, other := range n.few {
			if other == name {
				return false
			}
		}
		if n.few = append(n.few, name); len(n.few) > fewNames {
			n.many = make(map[string]struct{}, 2*fewNames)
			for _, other := range n.few {
				n.many[other] = struct{}{}
			}
			n.few = nil
		}
		return true
	}
	before := len(n.many)
	n.many[name] = struct{}{}
	return len(n.many) > before
}

// manyFields is up to how many fields of a struct are noted without a place on the heap.
const manyFields = 64

// fields decodes an object into a struct.
func (d *decoder) fields(p *plan, v reflect.Value) *Error {
	object := d.at
	if d.data[object] != '{' {
		return d.mismatch(p, object)
	}
	if err := d.opened(); err != nil {
		return err
	}
	var room [manyFields]uint8 // the spelling of each field that was given, from 1
	seen := room[:]
	if len(p.fields) > len(seen) {
		seen = make([]uint8, len(p.fields))
	}
	for d.more('}') {
		if err := d.field(p, v, seen); err != nil {
			return err
		}
		d.skipSpace()
	}
	if d.options.Required {
		for i, f := range p.fields {
			if f.required && seen[i] == 0 {
				return problem(object, "is required").Within(f.spellings[0])
			}
		}
	}
	return nil
}

// field decodes a member into the field that has its name.
func (d *decoder) field(p *plan, v reflect.Value, seen []uint8) *Error {
	begin := d.at
	if err := d.part(); err != nil {
		return err
	}
	raw, plain := d.nameText()
	spelled, known := p.names[string(raw[1:len(raw)-1])]
	if !plain {
		name, _ := unquote(raw, plain)
		spelled, known = p.names[name]
	}
	if !known {
		name, _ := unquote(raw, plain)
		return &Error{Path: Path(name), Offset: begin, kind: unknownField, name: name, text: instead(name, p.allowed())}
	}
	f := &p.fields[spelled.field]
	name := f.spellings[spelled.number]
	switch before := seen[spelled.field]; {
	case before == uint8(spelled.number+1):
		return problem(begin, "is given twice").Within(name)
	case before > 0:
		return problem(begin, "is given twice, as %s too", f.spellings[before-1]).Within(name)
	}
	seen[spelled.field] = uint8(spelled.number + 1)
	to := v
	for _, i := range f.index {
		to = to.Field(i)
	}
	if err := d.value(f.plan, to); err != nil {
		return err.Within(name)
	}
	return nil
}

// entries decodes an object into a map.
func (d *decoder) entries(p *plan, v reflect.Value) *Error {
	if d.data[d.at] != '{' {
		return d.mismatch(p, d.at)
	}
	of := v.Type()
	if v.IsNil() {
		v.Set(reflect.MakeMap(of))
	}
	key, item := reflect.New(of.Key()).Elem(), reflect.New(of.Elem()).Elem()
	return d.object(func(name string, _ int) *Error {
		item.SetZero()
		if err := d.value(p.item, item); err != nil {
			return err
		}
		key.SetString(name)
		v.SetMapIndex(key, item)
		return nil
	})
}

// items decodes a list into a slice.
func (d *decoder) items(p *plan, v reflect.Value) *Error {
	if d.data[d.at] != '[' {
		return d.mismatch(p, d.at)
	}
	v.SetZero()
	err := d.list(func(i int) *Error {
		if i >= v.Cap() {
			v.Grow(1)
		}
		v.SetLen(i + 1)
		v.Index(i).SetZero() // what grew may hold anything
		return d.value(p.item, v.Index(i))
	})
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	return err
}
