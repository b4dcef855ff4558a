package aisdk_test

import (
	"testing"

	"github.com/reveille-run/reveille/adapters/internal/protocol/stresstest"
)

func TestErrorsNameNoTypesOfTheProgram(t *testing.T) {
	h := newServer(t, &fake{})
	for _, body := range stresstest.Mistyped(`{"id":"t1","threadId":"t1","agentId":"demo","trigger":"submit-message","messageId":"m1","approval":{"remember":"run"},"messages":[` +
		user("m1", "hello") + `,{"id":"a1","role":"assistant","parts":[{"type":"step-start"},` +
		`{"type":"tool-echo","toolCallId":"c1","state":"approval-responded","input":{"text":"x"},"approval":{"id":"p1","approved":true}}]},` +
		`{"id":"m2","role":"user","content":[{"type":"file","mediaType":"text/plain","url":"data:,x"}]}]}`) {
		if rec := do(h, "POST", "/v1/ai-sdk/chat", body, "Content-Type", "application/json"); stresstest.NamesTypes(rec.Body.String()) || rec.Code >= 500 {
			t.Errorf("%s\n%d %s", body, rec.Code, rec.Body)
		}
	}
}
