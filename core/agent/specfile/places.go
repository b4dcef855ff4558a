package specfile

import (
	"errors"
	"slices"

	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/strict"
)

// Places are the places of specs in the files that they were read from.
type Places struct {
	ids map[string]part // by kind and id
}

// Locate returns an error about one of the specs, such as a model that does not exist, as
// an [Error] with the place of the spec or of its field. It returns other errors unchanged.
// A program passes the error of its runtime's constructor, which resolves the specs.
func (p Places) Locate(err error) error {
	if at := (*Error)(nil); errors.As(err, &at) {
		return err
	}
	specs := field.Specs(err)
	for _, s := range slices.Backward(specs) { // the innermost is the cause
		key := s.Kind + " " + s.ID
		if s.ID == "" {
			key = s.Kind
		}
		of, ok := p.ids[key]
		if !ok {
			continue
		}
		path := of.path
		if path == "id" { // the document is the spec
			path = ""
		}
		return failed(of.of.file, of.of.find(under(path, strict.Path(s.Field))), specs[0].Err)
	}
	return err
}
