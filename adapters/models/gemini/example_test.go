package gemini_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/reveille-run/reveille/adapters/models/gemini"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Ask a model and print the text as it comes. The server stands in for the
// provider.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Good \"}]}}]}\n\n"+
			"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"morning.\"}]},\"finishReason\":\"STOP\"}]}\n\n")
	}))
	defer server.Close()

	provider, err := gemini.New(gemini.Options{APIKey: "AIza...", BaseURL: server.URL + "/v1beta"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for delta, err := range provider.Stream(context.Background(), model.Request{
		Model:    "gemini-3-flash-preview",
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
