package httpapi

import (
	"bytes"
	"net/http"

	"github.com/reveille-run/reveille/core/strict"
)

// bodies is how the bodies of requests are decoded: into the structs of shape.go, of which
// the OpenAPI document is made too.
var bodies = strict.Options{Name: "body", MaxDepth: maxDepth, NoNull: true, Required: true, WholeFloats: true}

// decode reads the body of a request, unless its client has left. The request does not keep
// the body afterwards.
func decode(r *http.Request, into any) error {
	o := bodies
	o.Stop = r.Context().Err
	err := o.Decode(bodyOf(r), into)
	if read, ok := r.Body.(*whole); ok {
		read.drop()
	}
	return err
}

// decodeOptional is decode for a request that may have no body.
func decodeOptional(r *http.Request, into any) error {
	if len(bodyOf(r)) == 0 {
		return nil
	}
	return decode(r, into)
}

// noBody refuses a body with anything in it.
func noBody(r *http.Request) error { return decodeOptional(r, &struct{}{}) }

// emptyBody reports whether the body of a request, an object if there is one, has nothing
// in it.
func emptyBody(r *http.Request) bool {
	return len(bytes.Trim(bodyOf(r), "{ \t\r\n}")) == 0
}

// bodyOf is what a request brought, but for blanks around it.
func bodyOf(r *http.Request) []byte {
	if read, ok := r.Body.(*whole); ok { // a request without a body has another one
		return bytes.TrimSpace(read.text)
	}
	return nil
}
