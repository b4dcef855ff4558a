package protocol_test

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

func TestOutputHasTheTextsOfAResult(t *testing.T) {
	file, said := core.Block{Type: core.BlockFile, MediaType: "image/png", Data: []byte("x")}, core.Block{Type: core.BlockText, Text: "See."}
	for _, tt := range []struct {
		data    string
		content []core.Block
		want    string
	}{
		{"", nil, ""},
		{`{"a":1}`, []core.Block{file}, `{"a":1}`},
		{`{"a":1}`, []core.Block{file, said, {Type: core.BlockText}}, `"{\"a\":1}\nSee."`},
		{`"A cat."`, []core.Block{said, said}, `"A cat.\nSee.\nSee."`},
		{"", []core.Block{said}, `"See."`},
	} {
		if got := protocol.Output(json.RawMessage(tt.data), tt.content); string(got) != tt.want {
			t.Errorf("%s: %s, want %s", tt.data, got, tt.want)
		}
	}
}

func TestLinksAreWebAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"https://a.example/b": true, "HTTP://a.example": true, "javascript:alert(1)": false, "data:text/html,x": false, "//a.example": false,
		"https:": false, "gs://a/b": false, "": false, "a b": false, "https://a.example/%zz": false,
	} {
		if got := protocol.Link(address); got != want {
			t.Errorf("%q: %t", address, got)
		}
	}
}
