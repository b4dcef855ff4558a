package store_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

func TestPlaceIsReadFromAnyJSON(t *testing.T) {
	tests := []struct {
		payload string
		want    store.Listing
		code    core.Code
	}{
		{`{"schema":1,"list":"threads:ann","at":1700000000000}`, store.Listing{List: "threads:ann", At: 1_700_000_000_000}, ""},
		{`{"schema":12,"list":"runs:","at":0,"agent_id":"demo"}`, store.Listing{List: "runs:"}, ""},
		{`{"schema":2,"extra":"x","at":5,"list":"runs:"}`, store.Listing{List: "runs:", At: 5}, ""},
		{`{"schema":1,"list":"runs:\u0061","at":5}`, store.Listing{List: "runs:a", At: 5}, ""},
		{`{"schema":1,"list":"runs:a","at":9223372036854775807}`, store.Listing{List: "runs:a", At: 9223372036854775807}, ""},
		{`{"schema":1,"list":"runs:a","at":9223372036854775808}`, store.Listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":9223372036854775800}`, store.Listing{List: "runs:a", At: 9223372036854775800}, ""},
		{`{"schema":1,"list":"runs:a","at":92233720368547758080}`, store.Listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":-5}`, store.Listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":1.5}`, store.Listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a#b","at":5}`, store.Listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs","at":5}`, store.Listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a"}`, store.Listing{List: "runs:a"}, ""},
		{`{"list":"runs:a","at":5}`, store.Listing{List: "runs:a", At: 5}, ""},
		{`,"list":"runs:a","at":5}`, store.Listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":5e3}`, store.Listing{}, core.CodeInvalid},
		{`{"schema":1}`, store.Listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":`, store.Listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":}`, store.Listing{}, core.CodeInvalid},
		{`{"schema":1runs:a","at":5}`, store.Listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":5`, store.Listing{}, core.CodeInvalid},
		{`5`, store.Listing{}, core.CodeInvalid},
	}
	for _, tt := range tests {
		got, err := store.PlaceOf(store.Record{Name: "L#", Payload: []byte(tt.payload)})
		if core.CodeOf(err) != tt.code || err == nil && got != tt.want {
			t.Errorf("PlaceOf(%s) is %+v, %v, want %+v and code %q", tt.payload, got, err, tt.want, tt.code)
		}
	}
}

// What programs write is read without a decoder, since it is read with every put: one would
// allocate seven times.
func TestPlaceIsReadWithoutADecoder(t *testing.T) {
	for _, payload := range []string{
		`{"schema":1,"list":"threads:ann","at":1700000000000,"agent_id":"demo"}`, `{"schema":12,"list":"runs:","at":0}`,
		`{"schema":1,"list":"runs:","at":9223372036854775799}`, `{"schema":1,"list":"runs:a","at":9,"agent_id":"\"}"}`,
	} {
		r := store.Record{Name: store.ActivityName, Payload: []byte(payload)}
		if n := testing.AllocsPerRun(20, func() {
			if _, err := store.PlaceOf(r); err != nil {
				t.Fatal(err)
			}
		}); n > 3 {
			t.Errorf("PlaceOf(%s) allocates %v times, want three times at most", payload, n)
		}
	}
}

func TestThreadsAreListedForTheirOwnerOrTheirParent(t *testing.T) {
	tests := []struct {
		owner  string
		parent *thread.Parent
		want   string
	}{
		{"ann", nil, "threads:ann"},
		{"", nil, "threads:"},
		{"ann", &thread.Parent{Thread: "t0"}, "children:t0"},
	}
	for _, tt := range tests {
		if got := recordname.ListOf(tt.owner, tt.parent); got != tt.want {
			t.Errorf("ListOf(%q, %v) is %q, want %q", tt.owner, tt.parent, got, tt.want)
		}
	}
	if got := recordname.RunsList("ann"); got != "runs:ann" {
		t.Errorf("RunsList is %q, want runs:ann", got)
	}
}
