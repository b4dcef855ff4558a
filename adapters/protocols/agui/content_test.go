package agui

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

func TestFilesOfAMessage(t *testing.T) {
	tests := []struct {
		name, content string
		want          []core.Block
		back          string // what the client is given when it loads the thread
	}{
		{
			"between texts", `[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"image","source":{"type":"data","value":"YWJj","mimeType":"image/png"},"metadata":{"filename":"x.png"}},{"type":"text","text":"c"}]`,
			[]core.Block{{Type: core.BlockText, Text: "ab"}, {Type: core.BlockFile, MediaType: "image/png", Data: []byte("abc"), Filename: "x.png"}, {Type: core.BlockText, Text: "c"}},
			`[{"type":"text","text":"ab"},{"type":"image","source":{"type":"data","value":"YWJj","mimeType":"image/png"},"metadata":{"filename":"x.png"}},{"type":"text","text":"c"}]`,
		},
		{
			"as clients before 1.0 send it", `[{"type":"binary","mimeType":"application/pdf","data":"YWJj","filename":"x.pdf"}]`,
			[]core.Block{{Type: core.BlockFile, MediaType: "application/pdf", Data: []byte("abc"), Filename: "x.pdf"}},
			`[{"type":"document","source":{"type":"data","value":"YWJj","mimeType":"application/pdf"},"metadata":{"filename":"x.pdf"}}]`,
		},
		{
			"elsewhere, of a kind that nobody says", `[{"type":"audio","source":{"type":"url","value":"https://example.com/a"},"metadata":"mine"}]`,
			[]core.Block{{Type: core.BlockFile, MediaType: "audio/*", URL: "https://example.com/a"}},
			`[{"type":"audio","source":{"type":"url","value":"https://example.com/a","mimeType":"audio/*"}}]`,
		},
		{"a text in parts", `[{"type":"text","text":"a"}]`, []core.Block{{Type: core.BlockText, Text: "a"}}, `"a"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := inMessage{Content: json.RawMessage(tt.content)}.blocks("messages[0]")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			back, err := json.Marshal(convert([]core.Message{{ID: "m", Role: core.RoleUser, Content: got}})[0].Content)
			if err != nil || string(back) != tt.back {
				t.Errorf("given back is %s, %v\nwant          %s", back, err, tt.back)
			}
		})
	}
}

func TestWhatTheRuntimeSaysToAModelIsNotShown(t *testing.T) {
	mend := core.UserMessage("[again]").WithID("b")
	mend.Repair = true
	if got := convert([]core.Message{core.UserMessage("hi").WithID("a"), mend}); len(got) != 1 || got[0].ID != "a" {
		t.Errorf("shown are %+v, want the first alone", got)
	}
}
