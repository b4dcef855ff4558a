package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/protocols/aisdk"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille"
)

// customer is the shop's own way to know its users.
func customer(r *http.Request) (reveille.Identity, error) {
	user, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer user-")
	if !ok {
		return reveille.Identity{}, errors.New("sign in first")
	}
	return reveille.Identity{Tenant: "shop", User: user}, nil
}

type parcel struct {
	Item string `json:"item"`
}

// shop serves until ctx ends. A main gets ctx from signal.NotifyContext and the listener from
// net.Listen, and has a provider's model, such as openai.New, in place of the scripted one.
func shop(ctx context.Context, file string, l net.Listener, ship func(item string)) error {
	store, err := bolt.Open(file, bolt.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	r, err := reveille.New(reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "helper", Model: "m"}},
		Models: reveille.Models{"m": {Model: scripted.Rules()}},
		Tools: []reveille.Tool{reveille.NewTool(reveille.ToolSpec{Name: "ship", Description: "Sends a parcel."},
			func(_ context.Context, _ reveille.Call, p parcel) (string, error) {
				ship(p.Item)
				return p.Item + " is on its way", nil
			})},
	}, &reveille.Options{Store: store})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /shop", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the shop") })
	mux.Handle("/agents/", http.StripPrefix("/agents", httpapi.New(r.Host(), &httpapi.Options{
		Authenticate: customer,
		StreamURL:    "/agents", // the prefix that is stripped
		Mounts:       map[string]http.Handler{"/v1/ai-sdk/": aisdk.New(r.Host(), nil)},
	})))
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(l) }() // until Shutdown
	err = r.Work(ctx)                   // until the signal: queued runs, sweeps, runs of a killed process
	within, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	return errors.Join(err, server.Shutdown(within))
}

// Agents in a server that has users of its own: a chat for the AI SDK, runs in the
// background, and threads that are there again when the server is started again.
func ExampleNew_embedded() {
	folder, err := os.MkdirTemp("", "shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	shipped := make(chan string, 1)
	start := func() (url string, stop func() error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", func() error { return err }
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			ended <- shop(ctx, filepath.Join(folder, "shop.db"), l, func(item string) { shipped <- item })
		}()
		return "http://" + l.Addr().String(), func() error { cancel(); return <-ended }
	}

	url, stop := start()
	fmt.Println(send("GET", url+"/shop", "", ""))
	fmt.Println(send("GET", url+"/agents/v1/threads/t1", "", ""))
	chat := send("POST", url+"/agents/v1/ai-sdk/chat", "ann", `{"id":"t1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"Are you there?"}]}]}`)
	for _, delta := range regexp.MustCompile(`"delta":"([^"]*)"`).FindAllStringSubmatch(chat, -1) {
		fmt.Print(delta[1])
	}
	fmt.Println()
	queued := send("POST", url+"/agents/v1/threads/t2/messages", "ann", `{"messages":[{"role":"user","content":"call: ship {\"item\":\"lamp\"}"}]}`)
	fmt.Println(regexp.MustCompile(`"status":"\w+"`).FindString(queued), <-shipped) // no request waits for it: Work does it
	fmt.Println("stopped:", stop())

	url, stop = start()
	kept := send("GET", url+"/agents/v1/threads/t1/messages", "ann", "")
	for _, text := range regexp.MustCompile(`"text":"([^"]*)"`).FindAllStringSubmatch(kept, -1) {
		fmt.Println("kept:", text[1])
	}
	fmt.Println("stopped:", stop())
	// Output:
	// the shop
	// {"error":"sign in first","code":"unauthorized"}
	// You said: Are you there?
	// "status":"queued" lamp
	// stopped: <nil>
	// kept: Are you there?
	// kept: You said: Are you there?
	// stopped: <nil>
}

// send returns the whole body of a response. A user is signed in.
func send(method, url, user, body string) string {
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	request.Header.Set("Content-Type", "application/json")
	if user != "" {
		request.Header.Set("Authorization", "Bearer user-"+user)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}
