package store_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/store"
)

// What is read without decoding the payload is what a decoder reads, wherever both read
// something.
func FuzzPlace(f *testing.F) {
	for _, seed := range []string{
		`{"schema":1,"list":"threads:ann","at":1700000000000,"agent_id":"demo"}`, `{"schema":1,"list":"runs:","at":0}`,
		`{"schema":1,"list":"runs:a","at":5,"at":6}`, `{"schema":1,"list":"runs:a","at":5,"List":"runs:b"}`, `{"at":5,"list":"runs:a"}`, `{"schema":1,"list":"a","at":}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		list, place, err := store.Record{Name: recordname.Activity, Payload: payload}.Place("t1")
		if err != nil {
			return
		}
		if place.At < 0 || store.CheckList(list) != nil {
			t.Fatalf("the place of %q is %s, %+v", payload, list, place)
		}
		// Programs write each key once, as it is spelt here; of what they never write, either will do.
		var members map[string]json.RawMessage
		if bytes.Contains(payload, []byte(`\`)) || bytes.Count(payload, []byte(`"at"`)) != 1 || bytes.Count(payload, []byte(`"list"`)) != 1 {
			return
		}
		if json.Unmarshal(payload, &members) != nil || len(members) != 3 || members["list"] == nil || members["at"] == nil || members["schema"] == nil {
			return
		}
		var want struct {
			List string `json:"list"`
			At   int64  `json:"at"`
		}
		if json.Unmarshal(payload, &want) == nil && json.Unmarshal(members["list"], &want.List) == nil && json.Unmarshal(members["at"], &want.At) == nil && (want.List != list || want.At != place.At) {
			t.Fatalf("the place of %q is %s, %+v, encoding/json reads %+v", payload, list, place, want)
		}
	})
}
