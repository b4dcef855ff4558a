package gemini

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Gemini 3 takes images and PDF within a result. Everything else follows the results.
func TestFilesOfResults(t *testing.T) {
	file := func(kind, data, url string) core.Block {
		return core.Block{Type: core.BlockFile, MediaType: kind, Data: []byte(data), URL: url}
	}
	result := func(call string, failed bool, content ...core.Block) core.Message {
		m := resultOf(call, "draw", "Done.")
		m.ToolResult.IsError, m.ToolResult.Content = failed, content
		return m
	}
	messages := []core.Message{
		core.UserMessage("a"),
		turnOf("t", []core.ToolCall{{ID: "x", Name: "draw"}, {ID: "y", Name: "draw"}}),
		result("x", false, file("image/png", "1", ""), said("A cat."), file("audio/wav", "2", "")),
		result("y", true, file("application/pdf", "3", ""), file("image/png", "", "https://example.com/a"), file("application/zip", "4", "")),
	}
	const omitted = "[Omitted: a file of type application/zip, which this model does not accept.]"
	for name, want := range map[string]string{
		"gemini-3-flash-preview": `[{"functionResponse":{"id":"c1_0","name":"draw","response":{"output":"Done.\nA cat."},"parts":[{"inlineData":{"mimeType":"image/png","data":"MQ=="}}]}},` +
			`{"functionResponse":{"id":"c1_1","name":"draw","response":{"error":"Done.\n` + omitted + `"},"parts":[{"inlineData":{"mimeType":"application/pdf","data":"Mw=="}}]}},` +
			`{"text":"Files of the result of draw:"},{"inlineData":{"mimeType":"audio/wav","data":"Mg=="}},` +
			`{"text":"Files of the result of draw:"},{"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a"}}]`,
		"gemini-2.5-pro": `[{"functionResponse":{"id":"c1_0","name":"draw","response":{"output":"Done.\nA cat."}}},` +
			`{"functionResponse":{"id":"c1_1","name":"draw","response":{"error":"Done.\n` + omitted + `"}}},` +
			`{"text":"Files of the result of draw:"},{"inlineData":{"mimeType":"image/png","data":"MQ=="}},{"inlineData":{"mimeType":"audio/wav","data":"Mg=="}},` +
			`{"text":"Files of the result of draw:"},{"inlineData":{"mimeType":"application/pdf","data":"Mw=="}},{"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a"}}]`,
	} {
		contents, err := encodeContents(model.Request{Model: name, Messages: messages})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(contents[2].Parts)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
