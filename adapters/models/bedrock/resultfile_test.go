package bedrock

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Files are blocks of a result. Those of failed calls follow all results of the turn, since
// models refuse them within.
func TestFilesOfResults(t *testing.T) {
	file := func(kind, name, data string) core.Block {
		return core.Block{Type: core.BlockFile, MediaType: kind, Filename: name, Data: []byte(data)}
	}
	result := func(call string, failed bool, text string, content ...core.Block) core.Message {
		m := resultOf(call, text)
		m.ToolResult.IsError, m.ToolResult.Content, m.ToolResult.Name = failed, content, "do"
		return m
	}
	request := model.Request{Model: "meta.llama", Origin: "bedrock/x", NoPromptCache: true, Messages: []core.Message{core.UserMessage("Hello").WithID("1")}}
	request.Messages = append(request.Messages, turnOf(call("x", "do", "{}"), call("y", "do", "{}"), call("z", "do", "{}")),
		result("x", true, "No.", file("image/png", "", "1")),
		result("y", false, "", file("application/pdf", "a.pdf", "2"), file("text/x-go", "a.go", "package a"), file("audio/wav", "", "3")),
		result("z", false, "Two.", file("image/jpeg", "", "4"), file("application/pdf", "a.pdf", "5")))
	_, got, _ := strings.Cut(sent(t, request), `"role":"assistant"},`)
	got, _, _ = strings.Cut(got, `],"toolConfig"`)
	want := `{"content":[{"toolResult":{"content":[{"text":"No."}],"status":"error","toolUseId":"c1_0"}},` +
		`{"toolResult":{"content":[{"document":{"format":"pdf","name":"a","source":{"bytes":"Mg=="}}},{"text":"a.go:\npackage a"},` +
		`{"text":"[Omitted: a file of type audio/wav, which this model does not accept.]"}],"toolUseId":"c1_1"}},` +
		`{"toolResult":{"content":[{"text":"Two."},{"image":{"format":"jpeg","source":{"bytes":"NA=="}}},{"document":{"format":"pdf","name":"a (2)","source":{"bytes":"NQ=="}}}],"toolUseId":"c1_2"}},` +
		`{"text":"Files of the result of do:"},{"image":{"format":"png","source":{"bytes":"MQ=="}}}],"role":"user"}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
