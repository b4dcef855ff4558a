package aisdk

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

func TestFilesOfAMessage(t *testing.T) {
	tests := []struct {
		name, parts string
		want        []core.Block
		back        []uiPart // what the client is given when it loads the thread
	}{
		{
			"between texts", `{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"file","mediaType":"image/png","url":"data:image/png;base64,YWJj","filename":"x.png"},{"type":"text","text":"c"}`,
			[]core.Block{{Type: core.BlockText, Text: "ab"}, {Type: core.BlockFile, MediaType: "image/png", Data: []byte("abc"), Filename: "x.png"}, {Type: core.BlockText, Text: "c"}},
			[]uiPart{{Type: "text", Text: "ab"}, {Type: "file", MediaType: "image/png", URL: "data:image/png;base64,YWJj", Filename: "x.png"}, {Type: "text", Text: "c"}},
		},
		{
			"alone, and the URL alone says what it is", `{"type":"file","url":"DATA:text/plain;charset=utf-8,a%20b"}`,
			[]core.Block{{Type: core.BlockFile, MediaType: "text/plain;charset=utf-8", Data: []byte("a b")}},
			[]uiPart{{Type: "file", MediaType: "text/plain;charset=utf-8", URL: "data:text/plain;charset=utf-8;base64,YSBi"}},
		},
		{
			"what the part says stands", `{"type":"file","mediaType":"text/csv","url":"data:application/octet-stream;base64,YWJj"}`,
			[]core.Block{{Type: core.BlockFile, MediaType: "text/csv", Data: []byte("abc")}},
			[]uiPart{{Type: "file", MediaType: "text/csv", URL: "data:text/csv;base64,YWJj"}},
		},
		{
			"elsewhere", `{"type":"file","mediaType":"image/png","url":"https://example.com/a.png"}`,
			[]core.Block{{Type: core.BlockFile, MediaType: "image/png", URL: "https://example.com/a.png"}},
			[]uiPart{{Type: "file", MediaType: "image/png", URL: "https://example.com/a.png"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := decodeRequest([]byte(`{"id":"t","messages":[{"id":"m1","role":"user","parts":[` + tt.parts + `]}]}`))
			if err != nil {
				t.Fatal(err)
			}
			input, err := r.input()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, input[0].Content); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.back, convert(input).out[0].Parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrokenFilesAreNamed(t *testing.T) {
	tests := []struct{ url, want string }{
		{"data:image/png;base64", "messages[0].parts[0].url is a data URL without a comma"},
		{"data:image/png;base64,a", "messages[0].parts[0].url is a data URL that is not base64"},
		{"data:text/plain,%zz", "messages[0].parts[0].url is a data URL with a broken escape"},
		{"blob:http://localhost/1", "messages[0].parts[0]: the file's URL is not an absolute http or https address without a user"},
	}
	for _, tt := range tests {
		r, err := decodeRequest([]byte(`{"id":"t","messages":[{"id":"m1","role":"user","parts":[{"type":"file","mediaType":"image/png","url":"` + tt.url + `"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = r.input(); err == nil || err.Error() != tt.want || core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s: %v, want %s", tt.url, err, tt.want)
		}
	}
}
