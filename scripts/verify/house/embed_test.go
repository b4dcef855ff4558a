package house

import (
	"go/ast"
	"go/types"
	"reflect"
)

// lent are the other structs that may be embedded, each with its reason.
var lent = map[string]string{
	"core/plugin.Context":          "what the contexts of all phases share: data, and how to read it",
	"core/state.Key":               "the public keys of documents and of maps are keys, with methods of their own",
	"core/store.Place":             "data: where a record is in a list",
	"core/store.Record":            "data: the form that every stored record has",
	"core/internal/thread.Schemas": "data: two numbers",
	"core/internal/thread.Ticket":  "data: a ticket as the head's own codec stores it",
}

// embeds lists the structs of a package that embed a struct which is neither wire data nor
// of package sync, as OUTER<INNER. An interface may be embedded by what decorates it: it
// lends nothing beyond itself.
func (p typed) embeds() (all []string) {
	for i, file := range p.files {
		outer := p.names[i]
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				outer = n.Name.Name
			case *ast.FuncDecl:
				outer = n.Name.Name
			case *ast.StructType:
				for _, f := range n.Fields.List {
					inner, ok := deref(p.info.Types[f.Type].Type).(*types.Named)
					if len(f.Names) > 0 || !ok || !isStruct(inner) || wire(inner, 0) || lent[typeName(inner)] != "" {
						continue
					}
					all = append(all, p.room+"."+outer+"<"+typeName(inner))
				}
			}
			return true
		})
	}
	return all
}

func isStruct(n *types.Named) bool {
	_, ok := n.Underlying().(*types.Struct)
	return ok
}

// typeName is the name of a type with its room, such as core/internal/thread.Head.
func typeName(n *types.Named) string {
	o := n.Obj()
	return room(o.Pkg().Path()) + "." + o.Name()
}

// wire reports whether a struct is of package sync, or data of the wire or of a record:
// a field of it has a tag for JSON, or a struct that it embeds is such data.
func wire(n *types.Named, depth int) bool {
	if o := n.Obj().Pkg(); o != nil && (o.Path() == "sync" || o.Path() == "sync/atomic") {
		return true
	}
	s, ok := n.Underlying().(*types.Struct)
	if !ok || depth > 3 {
		return false
	}
	for i := range s.NumFields() {
		if _, tagged := reflect.StructTag(s.Tag(i)).Lookup("json"); tagged {
			return true
		}
		if inner, ok := deref(s.Field(i).Type()).(*types.Named); ok && s.Field(i).Embedded() && wire(inner, depth+1) {
			return true
		}
	}
	return false
}
