package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/adapters/models/anthropic"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Ask a model and print the text as it comes. The server stands in for the
// provider.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Good morning."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}

event: message_stop
data: {"type":"message_stop"}

`)
	}))
	defer server.Close()

	provider, err := anthropic.New(anthropic.Options{APIKey: "sk-ant-...", BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	for delta, err := range provider.Stream(context.Background(), model.Request{
		Model:    "claude-haiku-4-5",
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

// BenchmarkStream decodes a stream of 5,000 pieces of text, over HTTP.
func BenchmarkStream(b *testing.B) {
	stream := `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
		strings.Repeat(`event: content_block_delta`+"\n"+`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`+"\n\n", 5000) +
		`data: {"type":"content_block_stop","index":0}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, stream) }))
	defer server.Close()
	provider, err := anthropic.New(anthropic.Options{BaseURL: server.URL})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range provider.Stream(context.Background(), model.Request{Model: "m", Messages: []core.Message{core.UserMessage("Greet me.").WithID("1")}}) {
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
