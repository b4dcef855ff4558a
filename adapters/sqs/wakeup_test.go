package sqs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

var hint = core.WakeUp{
	Tenant: "acme", Thread: "t1", Epoch: 3,
	Dispatch: core.ID{0x01, 0x93, 0x5d, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 0x01},
}

const body = `{"tenant":"acme","thread":"t1","dispatch":"01935d00-0000-7000-8000-000000000001","epoch":3}`

func TestWakeUpOnTheWire(t *testing.T) {
	got, err := Encode(hint)
	if err != nil || got != body {
		t.Fatalf("Encode answers %s, %v, want %s", got, err, body)
	}
	back, err := Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(hint, back); diff != "" {
		t.Errorf("Decode (-want +got):\n%s", diff)
	}
}

func TestLongestWakeUpFits(t *testing.T) {
	longest := core.WakeUp{Tenant: strings.Repeat("t", 128), Thread: strings.Repeat(":", 128), Dispatch: hint.Dispatch, Epoch: 1<<64 - 1}
	text, err := Encode(longest)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := Decode(text); err != nil || back != longest {
		t.Errorf("Decode answers %+v, %v", back, err)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	tests := []struct{ name, body string }{
		{"nothing", ``},
		{"no JSON", `tenant=acme`},
		{"another type", `["acme"]`},
		{"null", `null`},
		{"an unknown key", strings.Replace(body, `"epoch"`, `"priority":1,"epoch"`, 1)},
		{"no tenant", `{"thread":"t1"}`},
		{"no thread", `{"tenant":"acme"}`},
		{"a separator in an id", strings.Replace(body, `"t1"`, `"t1#M"`, 1)},
		{"a dispatch that is no UUID", strings.Replace(body, `01935d00-`, `01935d00`, 1)},
		{"an epoch below zero", strings.Replace(body, `:3`, `:-3`, 1)},
		{"something behind it", body + body},
		{"a bracket behind it", body + `}`},
		{"too long", body + strings.Repeat(" ", 1024)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if w, err := Decode(tt.body); core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("Decode answers %+v and the error %v, want code %q", w, err, core.CodeInvalid)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(body)
	f.Add(`{"tenant":"a","thread":"b"}`)
	f.Add(`{"tenant":"a#","thread":"b","dispatch":"","epoch":18446744073709551616}`)
	f.Fuzz(func(t *testing.T, text string) {
		w, err := Decode(text)
		if err != nil {
			if core.CodeOf(err) != core.CodeInvalid {
				t.Fatalf("error %v has code %q", err, core.CodeOf(err))
			}
			return
		}
		again, err := Encode(w)
		if err != nil {
			t.Fatalf("a wake-up that was read cannot be sent: %v", err)
		}
		if back, err := Decode(again); err != nil || back != w {
			t.Fatalf("it comes back as %+v, %v", back, err)
		}
	})
}
