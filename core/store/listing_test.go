package store_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

func TestPlaceIsReadFromAnyJSON(t *testing.T) {
	type listing struct {
		List string
		At   int64
	}
	tests := []struct {
		payload string
		want    listing
		code    core.Code
	}{
		{`{"schema":1,"list":"threads:ann","at":1700000000000}`, listing{List: "threads:ann", At: 1_700_000_000_000}, ""},
		{`{"schema":12,"list":"runs:","at":0,"agent_id":"demo"}`, listing{List: "runs:"}, ""},
		{`{"schema":2,"extra":"x","at":5,"list":"runs:"}`, listing{List: "runs:", At: 5}, ""},
		{`{"schema":1,"list":"runs:\u0061","at":5}`, listing{List: "runs:a", At: 5}, ""},
		{`{"schema":1,"list":"runs:a","at":9223372036854775807}`, listing{List: "runs:a", At: 9223372036854775807}, ""},
		{`{"schema":1,"list":"runs:a","at":9223372036854775808}`, listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":9223372036854775800}`, listing{List: "runs:a", At: 9223372036854775800}, ""},
		{`{"schema":1,"list":"runs:a","at":92233720368547758080}`, listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":-5}`, listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":1.5}`, listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a#b","at":5}`, listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs","at":5}`, listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a"}`, listing{List: "runs:a"}, ""},
		{`{"list":"runs:a","at":5}`, listing{List: "runs:a", At: 5}, ""},
		{`,"list":"runs:a","at":5}`, listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":5e3}`, listing{}, core.CodeInvalid},
		{`{"schema":1}`, listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":`, listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":}`, listing{}, core.CodeInvalid},
		{`{"schema":1runs:a","at":5}`, listing{}, core.CodeInvalid},
		{`{"schema":1,"list":"runs:a","at":5`, listing{}, core.CodeInvalid},
		{`5`, listing{}, core.CodeInvalid},
	}
	for _, tt := range tests {
		list, place, err := store.Record{Name: "L#", Payload: []byte(tt.payload)}.Place("t1")
		got := listing{list, place.At}
		if core.CodeOf(err) != tt.code || err == nil && (got != tt.want || place.Thread != "t1" || place.Name != "L#") {
			t.Errorf("the place of %s is %+v, %v, want %+v and code %q", tt.payload, got, err, tt.want, tt.code)
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
		r := store.Record{Name: recordname.Activity, Payload: []byte(payload)}
		if n := testing.AllocsPerRun(20, func() {
			if _, _, err := r.Place("t1"); err != nil {
				t.Fatal(err)
			}
		}); n > 3 {
			t.Errorf("the place of %s allocates %v times, want three times at most", payload, n)
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
