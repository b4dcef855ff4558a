package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Ask a model and print the text as it comes. The server stands in for the
// provider.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Good \"}}]}\n\n"+
			"data: {\"choices\":[{\"delta\":{\"content\":\"morning.\"},\"finish_reason\":\"stop\"}]}\n\n"+
			"data: [DONE]\n\n")
	}))
	defer server.Close()

	provider, err := openai.New(openai.Options{APIKey: "sk-...", BaseURL: server.URL + "/v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for delta, err := range provider.Stream(context.Background(), model.Request{
		Model:    "gpt-5-mini",
		Messages: []core.Message{core.UserMessage("Greet me.").WithID("1")},
	}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch delta.Type {
		case model.DeltaText:
			fmt.Print(delta.Text)
		case model.DeltaStop:
			fmt.Println("\n" + delta.Stop)
		}
	}
	// Output:
	// Good morning.
	// end_turn
}

// BenchmarkStream decodes a stream of 5,000 chunks, over HTTP.
func BenchmarkStream(b *testing.B) {
	stream := strings.Repeat(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1795236518,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`+"\n\n", 5000) +
		"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, stream) }))
	defer server.Close()
	provider, err := openai.New(openai.Options{BaseURL: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range provider.Stream(context.Background(), model.Request{Model: "m"}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 5001 {
			b.Fatalf("%d deltas, want 5001", n)
		}
	}
}
