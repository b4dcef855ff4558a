package mcp_test

import (
	"testing"

	"github.com/reveille-run/reveille/adapters/internal/protocol/stresstest"
)

func TestErrorsNameNoTypesOfTheProgram(t *testing.T) {
	w := newWorld(t)
	url := w.serve(w.handler(nil))
	for _, call := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},"_meta":{"progressToken":"p"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":{"run_id":"x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"a","version":"1"}}}`,
	} {
		for _, era := range []string{modern, legacy} {
			for _, body := range stresstest.Mistyped(call) {
				status, _, text := send(t, "POST", url+"/v1/mcp", body, "Mcp-Protocol-Version", era)
				if stresstest.NamesTypes(text) || status >= 500 {
					t.Errorf("%s\n%d %s", body, status, text)
				}
			}
		}
	}
}
