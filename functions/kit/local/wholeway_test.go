package local

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/adapters/models/anthropic"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// painted is what the provider of [servePainter] receives of an image, and shows.
const painted = "iVBORw=="

// servePainter serves a host whose agent calls a tool that returns an image, and then cites a
// page and a document, over the adapter of Anthropic. received are the bodies that the
// provider got.
func servePainter(t *testing.T) (url string, received func() []string) {
	t.Helper()
	var lock sync.Mutex
	var bodies []string
	events := func(lines ...string) string { return "data: " + strings.Join(lines, "\n\ndata: ") + "\n\n" }
	calls := events(`{"type":"message_start","message":{}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"draw","input":{}}}`,
		`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`)
	cites := events(`{"type":"message_start","message":{}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Où? "}}`, `{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Là."}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://a.example","title":"A","cited_text":"là"}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"type":"page_location","document_index":0,"document_title":"Weather","start_page_number":2,"end_page_number":3}}}`,
		`{"type":"content_block_stop","index":1}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		lock.Lock()
		bodies = append(bodies, string(body))
		lock.Unlock()
		w.Header().Set("content-type", "text/event-stream")
		if newest := body[strings.LastIndex(string(body), `"role":"user"`):]; strings.Contains(string(newest), "tool_result") {
			fmt.Fprint(w, cites)
			return
		}
		fmt.Fprint(w, calls)
	}))
	t.Cleanup(provider.Close)
	m, err := anthropic.New(anthropic.Options{APIKey: "k", BaseURL: provider.URL})
	if err != nil {
		t.Fatal(err)
	}
	draw := tool.New(tool.Spec{Name: "draw", Description: "Draws."}, func(context.Context, tool.Call, struct{}) (tool.Result, error) {
		return tool.NewResult("A cat.").WithFile("image/png", []byte("\x89PNG")), nil
	})
	deployment := demonstration
	deployment.Parts = func(models map[string]agent.ModelBinding) (agent.Parts, error) {
		for id := range models {
			models[id] = agent.ModelBinding{Model: m, Name: "claude-haiku-4-5", Provider: "anthropic"}
		}
		parts, err := demo.Parts(models)
		parts.Tools = append(parts.Tools, draw)
		for i := range parts.Specs {
			if parts.Specs[i].ID == "demo" {
				parts.Specs[i].ExposedTools = []string{"draw"}
			}
		}
		return parts, err
	}
	s, err := settings.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Data = filepath.Join(t.TempDir(), "data.db")
	url, _ = serveWhole(t, s, deployment)
	return url, func() []string {
		lock.Lock()
		defer lock.Unlock()
		return bodies
	}
}

// An image of a tool and the citations of a text go from the adapter into the log, and from
// there to every client, live and replayed.
func TestImagesAndCitationsGoTheWholeWay(t *testing.T) {
	url, received := servePainter(t)
	status, live := post(t, url+"/v1/runs", `{"agentId":"demo","threadId":"w","messages":[{"role":"user","content":"draw"}]}`)
	if status != 200 {
		t.Fatalf("status %d: %s", status, live)
	}
	bodies := received()
	if len(bodies) != 2 || !strings.Contains(bodies[1], `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+painted+`"}}`) {
		t.Errorf("the provider received %q", bodies)
	}
	_, page := get(t, url+"/v1/threads/w/messages")
	run := core.ID{}
	if _, rest, ok := strings.Cut(live, `"run_id":"`); ok {
		run, _ = core.ParseID(rest[:36])
	}
	_, replayed := get(t, url+"/v1/runs/"+run.String()+"/events/stream")
	_, chat := post(t, url+"/v1/ai-sdk/chat", `{"id":"w2","trigger":"submit-message","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"draw"}]}]}`)
	_, agui := post(t, url+"/v1/ag-ui/run", `{"threadId":"w3","runId":"r1","protocolVersion":"1.0","messages":[{"id":"u1","role":"user","content":"draw"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`)
	_, lists := get(t, url+"/v1/ag-ui/threads/w3/messages")
	_, loaded := post(t, url+"/v1/ag-ui/connect", `{"threadId":"w3","runId":"r2","messages":[]}`)
	said, drawn := callMCP(t, url, "demo", `{"message":"draw"}`), callMCP(t, url, "draw", `{}`)
	const note = `[{"type":"url","start":5,"end":9,"url":"https://a.example","title":"A","quote":"là"},{"type":"document","start":5,"end":9,"title":"Weather","document":1,"unit":"page","from":2,"to":3}]`
	for name, tt := range map[string]struct{ got, want string }{
		"native image":         {live, `"result":"A cat.","blocks":[{"type":"file","media_type":"image/png","data":"` + painted + `"}]`},
		"native citations":     {live, `"event_type":"text_annotations"`},
		"native offsets":       {live, `"annotations":` + note},
		"replayed image":       {replayed, `"blocks":[{"type":"file","media_type":"image/png","data":"` + painted + `"}]`},
		"replayed citations":   {replayed, `"annotations":` + note},
		"message's image":      {page, `"content":[{"type":"file","media_type":"image/png","data":"` + painted + `"}]`},
		"message's citations":  {page, `"text":"Où? Là.","annotations":` + note},
		"AI SDK image":         {chat, `{"type":"file","url":"data:image/png;base64,` + painted + `","mediaType":"image/png"}`},
		"AI SDK page":          {chat, `{"type":"source-url","sourceId":"src_2_0","url":"https://a.example","title":"A"}`},
		"AI SDK document":      {chat, `{"type":"source-document","sourceId":"src_2_1","mediaType":"application/octet-stream","title":"Weather"}`},
		"AG-UI image":          {agui, `"name":"reveille.result_files"`},
		"AG-UI image's form":   {agui, `"files":[{"type":"image","source":{"type":"data","value":"` + painted + `","mimeType":"image/png"}}]`},
		"AG-UI citations":      {agui, `"name":"reveille.citations"`},
		"AG-UI's list, image":  {lists, `"files":[{"messageId":`},
		"AG-UI's list, note":   {lists, `"annotations":` + note},
		"AG-UI loaded, image":  {loaded, `"files":[{"type":"image","source":{"type":"data","value":"` + painted + `","mimeType":"image/png"}}]`},
		"AG-UI loaded, note":   {loaded, `"annotations":` + note},
		"MCP's page":           {said, `{"type":"resource_link","uri":"https://a.example","name":"A"}`},
		"MCP's image":          {drawn, `{"type":"image","mimeType":"image/png","data":"` + painted + `"}`},
		"AG-UI citations' own": {agui, `"annotations":` + note},
	} {
		if !strings.Contains(tt.got, tt.want) {
			t.Errorf("%s: no %s in\n%.6000s", name, tt.want, tt.got)
		}
	}
}

// callMCP calls a tool of the MCP server and returns the body of the response.
func callMCP(t *testing.T, url, tool, arguments string) string {
	t.Helper()
	call := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/mcp", call)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
