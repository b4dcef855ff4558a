package field

import "errors"

// Located is an error about a spec, or about a field of it, whose text names both already.
// It has the text of Err.
type Located struct {
	Kind, ID string // of the spec; empty: the spec that the error around this one is about
	Field    string // path within the spec; empty: the spec as a whole
	Err      error
}

// Error implements error.
func (l *Located) Error() string { return l.Err.Error() }

// Unwrap returns Err.
func (l *Located) Unwrap() error { return l.Err }

// At locates an error in a field of the spec that the error around it is about.
func At(field string, err error) error { return &Located{Field: field, Err: err} }

// About is a spec that an error is about.
type About struct {
	Kind, ID, Field string
	Err             error // the part of the error from there on
}

// Specs returns the specs that an error is about, the outermost first.
func Specs(err error) []About { return collect(nil, err) }

// collect adds the specs of an error to those of the errors around it. It follows the first
// of several errors that were joined.
func collect(specs []About, err error) []About {
	switch e := err.(type) {
	case nil:
		return specs
	case *Error:
		specs = append(specs, About{e.Kind, e.ID, e.Field, e})
	case *Located:
		if e.Kind != "" {
			specs = append(specs, About{e.Kind, e.ID, e.Field, e})
		} else if n := len(specs); n > 0 && specs[n-1].Field == "" {
			specs[n-1].Field = e.Field
		}
	case interface{ Unwrap() []error }:
		if all := e.Unwrap(); len(all) > 0 {
			return collect(specs, all[0])
		}
	}
	return collect(specs, errors.Unwrap(err))
}
