package openai

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

func TestFilesInARequest(t *testing.T) {
	file := func(kind, name, data string) core.Block {
		return core.Block{Type: core.BlockFile, MediaType: kind, Filename: name, Data: []byte(data)}
	}
	link := func(kind string) core.Block {
		return core.Block{Type: core.BlockFile, MediaType: kind, URL: "https://example.com/a"}
	}
	tests := []struct {
		name       string
		file       core.Block
		want, fail string
	}{

		{"an image", file("image/png", "a.png", "abc"), `{"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj"}}`, ""},
		{"an image elsewhere", link("image/png"), `{"type":"image_url","image_url":{"url":"https://example.com/a"}}`, ""},
		{"a document", file("application/pdf", "a.pdf", "abc"), `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,YWJj"}}`, ""},
		{"a document without a name", file("application/pdf", "", "abc"), `{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,YWJj"}}`, ""},
		{"sound", file("audio/x-wav", "", "abc"), `{"type":"input_audio","input_audio":{"data":"YWJj","format":"wav"}}`, ""},
		{"other sound", file("audio/mpeg", "", "abc"), `{"type":"input_audio","input_audio":{"data":"YWJj","format":"mp3"}}`, ""},
		{"text", file("text/plain; charset=utf-8", "a.txt", "abc"), `{"type":"text","text":"a.txt:\nabc"}`, ""},
		{"JSON", file("application/json", "", "{}"), `{"type":"text","text":"text:\n{}"}`, ""},
		{"what it does not take", file("video/mp4", "", "abc"), "", "openai: a file of media type video/mp4 is not supported by this API, which accepts images, PDF, text, WAV and MP3"},
		{"a document elsewhere", link("application/pdf"), "", "openai: a file of media type application/pdf by its URL is not supported by this API, which accepts URLs of images only"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := core.Message{ID: "1", Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: "see"}, {Type: core.BlockText}, tt.file}}
			body, err := encode(model.Request{Model: "m", Messages: []core.Message{m}}, kins[DialectOpenAI])
			if err != nil {
				if got := err.Error(); got != tt.fail {
					t.Errorf("error %q, want %q", got, tt.fail)
				}
				return
			}
			var chat struct {
				Messages []struct{ Content json.RawMessage }
			}
			if err := json.Unmarshal(body, &chat); err != nil {
				t.Fatal(err)
			}
			if got, want := string(chat.Messages[0].Content), `[{"type":"text","text":"see"},`+tt.want+`]`; got != want {
				t.Errorf("content %s\nwant    %s", got, want)
			}
		})
	}
}

// Mistral has a part of its own for documents, and no object for images.
func TestFilesForMistral(t *testing.T) {
	tests := []struct {
		file       core.Block
		want, fail string
	}{
		{core.Block{MediaType: "image/png", Data: []byte("abc")}, `{"type":"image_url","image_url":"data:image/png;base64,YWJj"}`, ""},
		{core.Block{MediaType: "image/png", URL: "https://example.com/a"}, `{"type":"image_url","image_url":"https://example.com/a"}`, ""},
		{core.Block{MediaType: "application/pdf", Data: []byte("abc"), Filename: "a.pdf"}, `{"type":"document_url","document_url":"data:application/pdf;base64,YWJj","document_name":"a.pdf"}`, ""},
		{core.Block{MediaType: "application/pdf", URL: "https://example.com/a"}, `{"type":"document_url","document_url":"https://example.com/a"}`, ""},
		{core.Block{MediaType: "text/plain", Data: []byte("abc")}, `{"type":"text","text":"text:\nabc"}`, ""},
		{core.Block{MediaType: "audio/wav", URL: "https://example.com/a"}, "", "openai: a file of media type audio/wav by its URL is not supported by this API, which accepts URLs of images and PDF only"},
	}
	for _, tt := range tests {
		tt.file.Type = core.BlockFile
		got, err := encode(model.Request{Model: "m", Messages: []core.Message{{ID: "1", Role: core.RoleUser, Content: []core.Block{tt.file}}}}, kins[DialectMistral])
		want := `{"model":"m","messages":[{"role":"user","content":[` + tt.want + `]}],"stream":true}`
		if tt.fail != "" && (err == nil || err.Error() != tt.fail) || tt.fail == "" && string(got) != want {
			t.Errorf("%s, %v\nwant %s%s", got, err, want, tt.fail)
		}
	}
}

// What a client attaches without a word has a text block beside it that says nothing.
func TestAFileAlone(t *testing.T) {
	message := []core.Message{{ID: "1", Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText}, {Type: core.BlockFile, MediaType: "image/png", Data: []byte("abc")}}}}
	chat, err := encode(model.Request{Model: "m", Messages: message}, kins[DialectCompatible])
	if err != nil {
		t.Fatal(err)
	}
	input, err := responses(t, Options{}).encode(model.Request{Model: "gpt-4.1", Messages: message})
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		string(chat):  `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj"}}]}],"stream":true,"stream_options":{"include_usage":true}}`,
		string(input): `{"model":"gpt-4.1","input":[{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,YWJj","detail":"auto"}]}],"store":false,"stream":true}`,
	} {
		if got != want {
			t.Errorf("request %s\nwant    %s", got, want)
		}
	}
}
