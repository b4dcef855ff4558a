package protocol_test

import (
	"fmt"
	"net/http/httptest"

	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core/env"
)

func ExampleWriter_KeepAlive() {
	rec := httptest.NewRecorder() // an http.ResponseWriter
	out := protocol.NewWriter(rec)
	r := httptest.NewRequest("GET", "/", nil)
	err := out.KeepAlive(r.Context(), env.System(), func() error {
		return out.Write(protocol.Frame{ID: "1", Data: []byte(`{"event_type":"run_start"}`)})
	})
	fmt.Printf("%s%v", rec.Body, err)
	// Output:
	// id: 1
	// data: {"event_type":"run_start"}
	//
	// <nil>
}
