package agui_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Clients send their messages back: citations and files are no part of them, and come next to
// them in every list and behind every snapshot that a client loads a thread from.
func TestCitationsAndFilesComeNextToTheMessages(t *testing.T) {
	w := newWorld(t)
	customs := func(all []map[string]any) (lines []string) {
		for _, e := range all {
			if name, _ := e["name"].(string); strings.HasPrefix(name, "reveille.citations") || strings.HasPrefix(name, "reveille.result_files") {
				value := e["value"].(map[string]any)
				delete(value, "toolCallId")
				id := value["messageId"].(string)
				value["messageId"] = id[strings.IndexByte(id, '.'):]
				lines = append(lines, fmt.Sprint(name, " ", encoded(t, value)))
			}
		}
		return lines
	}
	draws := w.run(t, "/v1/ag-ui/run", said("t1", "r1", "m1", "call: depict {}"))
	cites := w.run(t, "/v1/ag-ui/run", said("t1", "r2", "m2", "cite: https://a.example"))
	files := `reveille.result_files {"files":[{"source":{"mimeType":"image/png","type":"data","value":"cG5n"},"type":"image"}],"messageId":".1.0"}`
	cited := `reveille.citations {"annotations":[{"end":11,"start":0,"title":"https://a.example","type":"url","url":"https://a.example"}],"block":0,"messageId":".1"}`
	for name, tt := range map[string]struct {
		got  []map[string]any
		want []string
	}{
		"live, files":     {draws, []string{files}},
		"live, citations": {cites, []string{cited}},
		"loaded":          {w.run(t, "/v1/ag-ui/connect", `{"threadId":"t1","runId":"c1","messages":[]}`), []string{cited, files}},
		"sent again":      {w.run(t, "/v1/ag-ui/run", said("t1", "r2", "m2", "cite: https://a.example")), []string{files, cited}},
	} {
		if diff := cmp.Diff(tt.want, customs(tt.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	w.run(t, "/v1/ag-ui/run", said("t1", "r3", "m3", "echo: on"))
	response, err := http.Get(w.URL + "/v1/ag-ui/threads/t1/messages")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var list struct {
		Messages  []map[string]any
		Citations []struct {
			MessageID   string
			Annotations json.RawMessage
		}
		Files []struct{ MessageID, ToolCallID string }
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	if len(list.Messages) != 10 || len(list.Citations) != 1 || len(list.Files) != 1 {
		t.Fatalf("the list is %+v", list)
	}
	if c := list.Citations[0]; c.MessageID != list.Messages[5]["id"] || !strings.Contains(string(c.Annotations), `"url":"https://a.example"`) {
		t.Errorf("citations %+v of %v", c, list.Messages[5])
	}
	if f := list.Files[0]; f.MessageID != list.Messages[2]["id"] || f.ToolCallID != list.Messages[2]["toolCallId"] {
		t.Errorf("files %+v of %v", f, list.Messages[2])
	}
	for _, m := range list.Messages {
		for member := range m {
			if !strings.Contains(" id role content toolCalls toolCallId ", " "+member+" ") {
				t.Errorf("a message has %s: %v", member, m)
			}
		}
	}
}

// A result of a frontend's tool is a text. One with a file is refused before anything is
// decided, and the text alone is taken after that.
func TestAFrontendsResultHasNoFiles(t *testing.T) {
	w := newWorld(t)
	asks := `{"id":"m1","role":"user","content":"call: navigate {\"to\":\"/home\"}"}`
	asked := w.run(t, "/v1/ag-ui/run", `{`+modern+`"threadId":"t1","runId":"r1","tools":[`+navigate+`],"messages":[`+asks+`]}`)
	call := find(t, asked, "TOOL_CALL_START")["toolCallId"].(string)
	gives := func(content string) []map[string]any {
		return w.run(t, "/v1/ag-ui/run", `{`+modern+`"threadId":"t1","runId":"r2","messages":[`+asks+`,{"id":"x","role":"assistant"},{"id":"y","role":"tool","toolCallId":"`+call+`","content":`+content+`}]}`)
	}
	got := gives(`[{"type":"text","text":"done"},{"type":"image","source":{"type":"data","value":"cG5n","mimeType":"image/png"}}]`)
	const want = `{"code":"unsupported","message":"messages[2].content has files, want text: send them with a user message","type":"RUN_ERROR"}`
	if last := encoded(t, got[len(got)-1]); last != want {
		t.Errorf("a file: %s\nwant %s", last, want)
	}
	if _, text := types(gives(`[{"type":"text","text":"do"},{"type":"text","text":"ne"}]`)); text != "The result of navigate: done" {
		t.Errorf("text in parts: %q", text)
	}
	const file = `[{"type":"image","source":{"type":"url","value":"https://a.example/b.png"}}]`
	again := w.run(t, "/v1/ag-ui/run", `{`+modern+`"threadId":"t1","runId":"r3","messages":[{"id":"x","role":"assistant"},{"id":"y","role":"tool","toolCallId":"`+call+`","content":`+file+`},{"id":"m2","role":"user","content":"echo: on"}]}`)
	if _, text := types(again); text != "Echo: on" {
		t.Errorf("a file in the history: %v", again)
	}
	status, text := w.post(t, "/v1/ag-ui/run", `{`+modern+`"threadId":"t1","runId":"r4","messages":[`+asks+`,{"id":"x","role":"assistant"},{"id":"y","role":"tool","content":"done"}]}`)
	if want := `"messages[2].toolCallId is required: the id of the call whose result the message is"`; status != 200 || !strings.Contains(text, want) {
		t.Errorf("a result of no call: %d %s, want %s", status, text, want)
	}
}
