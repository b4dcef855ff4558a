package core_test

import (
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestCheckFile(t *testing.T) {
	file := func(change func(*core.Block)) core.Block {
		b := core.Block{Type: core.BlockFile, MediaType: "image/png", Data: []byte("x")}
		change(&b)
		return b
	}
	link := func(address string) core.Block {
		return file(func(b *core.Block) { b.Data, b.URL = nil, address })
	}
	tests := []struct {
		name string
		file core.Block
		want string // empty: it is valid
	}{
		{"bytes", file(func(*core.Block) {}), ""},
		{"a media type with a parameter", file(func(b *core.Block) { b.MediaType = "text/plain; charset=utf-8" }), ""},
		{"an address", link("https://example.com/a.png"), ""},
		{"the longest address", link("https://example.com/" + strings.Repeat("a", 2028)), ""},
		{"an address that is too long", link("https://example.com/" + strings.Repeat("a", 2029)), "at: the file's URL has 2049 bytes, at most 2048 are allowed"},
		{"the longest name", file(func(b *core.Block) { b.Filename = strings.Repeat("n", 255) }), ""},
		{"a name that is too long", file(func(b *core.Block) { b.Filename = strings.Repeat("n", 256) }), "at: the file name has 256 bytes, at most 255 are allowed"},
		{"a name with a line end", file(func(b *core.Block) { b.Filename = "a\nb" }), "at: the file name has a character that is not for people"},
		{"a name that is no UTF-8", file(func(b *core.Block) { b.Filename = "\xff" }), "at: the file name has a character that is not for people"},
		{"no media type", file(func(b *core.Block) { b.MediaType = "" }), `at: invalid media type "", want one such as image/png`},
		{"half a media type", file(func(b *core.Block) { b.MediaType = "image" }), `at: invalid media type "image", want one such as image/png`},
		{"nothing", file(func(b *core.Block) { b.Data = nil }), "at: the file is empty, want its bytes or a URL"},
		{"both", file(func(b *core.Block) { b.URL = "https://example.com/" }), "at: the file has bytes and a URL, one of them is allowed"},
		{"text", file(func(b *core.Block) { b.Text = "x" }), "at: a file has no text"},
		{"a file of this machine", link("file:///etc/passwd"), "at: the file's URL is not an absolute http or https address without a user"},
		{"a relative address", link("/a.png"), "at: the file's URL is not an absolute http or https address without a user"},
		{"an address with a password", link("https://u:p@example.com/"), "at: the file's URL is not an absolute http or https address without a user"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := tt.file.CheckFile("at"); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("error %q, want %q", got, tt.want)
			}
		})
	}
}
