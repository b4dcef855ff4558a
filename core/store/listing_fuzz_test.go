package store_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core/store"
)

// What is read without decoding the payload is what a decoder reads, wherever both read
// something.
func FuzzPlaceOf(f *testing.F) {
	for _, seed := range []string{
		`{"schema":1,"list":"threads:ann","at":1700000000000,"agent_id":"demo"}`, `{"schema":1,"list":"runs:","at":0}`,
		`{"schema":1,"list":"runs:a","at":5,"at":6}`, `{"schema":1,"list":"runs:a","at":5,"List":"runs:b"}`, `{"at":5,"list":"runs:a"}`, `{"schema":1,"list":"a","at":}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		got, err := store.PlaceOf(store.Record{Name: store.ActivityName, Payload: payload})
		if err != nil {
			return
		}
		if got.At < 0 || store.CheckList(got.List) != nil {
			t.Fatalf("PlaceOf(%q) is %+v", payload, got)
		}
		// Programs write each key once, as it is spelt here; of what they never write, either will do.
		var members map[string]json.RawMessage
		if bytes.Contains(payload, []byte(`\`)) || bytes.Count(payload, []byte(`"at"`)) != 1 || bytes.Count(payload, []byte(`"list"`)) != 1 {
			return
		}
		if json.Unmarshal(payload, &members) != nil || len(members) != 3 || members["list"] == nil || members["at"] == nil || members["schema"] == nil {
			return
		}
		var want store.Listing
		if json.Unmarshal(payload, &want) == nil && json.Unmarshal(members["list"], &want.List) == nil && json.Unmarshal(members["at"], &want.At) == nil && want != got {
			t.Fatalf("PlaceOf(%q) is %+v, encoding/json reads %+v", payload, got, want)
		}
	})
}
