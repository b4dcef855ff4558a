package protocol_test

import (
	"net/http"
	"testing"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
)

func TestOnlyWhatAFormCanSendIsAForm(t *testing.T) {
	tests := []struct {
		name, method string
		types        []string
		want         bool
	}{
		{"a form", "POST", []string{"application/x-www-form-urlencoded"}, true},
		{"a form in capitals", "POST", []string{"Application/X-WWW-Form-URLencoded; charset=utf-8"}, true},
		{"a form with files", "POST", []string{"multipart/form-data; boundary=x"}, true},
		{"a form of text", "POST", []string{"text/plain"}, true},
		{"JSON", "POST", []string{"application/json"}, false},
		{"JSON with a parameter", "POST", []string{"application/json; charset=utf-8"}, false},
		{"another type", "POST", []string{"application/xml"}, false},
		{"no type", "POST", nil, false},
		{"an empty type", "POST", []string{""}, false},
		{"a list", "POST", []string{"text/plain, application/json"}, true},
		{"a broken parameter", "POST", []string{"application/json; charset"}, true},
		{"two types", "POST", []string{"application/json", "text/plain"}, true},
		{"two types, the same", "POST", []string{"application/json", "application/json"}, true},
		{"another method", "DELETE", []string{"text/plain"}, false},
		{"one more method", "PATCH", []string{"text/plain"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &http.Request{Method: test.method, Header: http.Header{"Content-Type": test.types}}
			if got := protocol.Form(r); got != test.want {
				t.Errorf("form %t, want %t", got, test.want)
			}
		})
	}
}
