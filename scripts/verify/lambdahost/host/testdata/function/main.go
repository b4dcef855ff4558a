// Command function is the Lambda function of the host's tests. The variable
// MODE says which handler it starts.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/identity/caller"
	"github.com/reveille-run/reveille/core"
)

func main() {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	switch os.Getenv("MODE") {
	case "stream":
		// So long that a stuck handler is ended at half of a short timeout: well before the
		// host kills the process, even where the machine stalls for seconds.
		lambda.Start(awslambda.Handlers{Logger: quiet, Reserve: 6 * time.Second}.Stream(routes()))
	case "buffered":
		lambda.Start(awslambda.Handlers{Logger: quiet}.Buffered(routes()))
	case "step":
		lambda.Start(awslambda.Handlers{Logger: quiet}.Step(worker{}.WorkBatch))
	case "event":
		lambda.Start(obey)
	case "exit":
		os.Exit(7)
	case "hang":
		time.Sleep(time.Hour)
	}
}

type worker struct{}

func (worker) WorkBatch(_ context.Context, hints []core.WakeUp) []error {
	errs := make([]error, len(hints))
	for i, hint := range hints {
		if strings.HasPrefix(hint.Thread, "bad") {
			errs[i] = errors.New("bad thread")
		}
	}
	return errs
}

// obey does what the event says.
func obey(ctx context.Context, order struct{ Do, URL string }) (any, error) {
	switch order.Do {
	case "pid":
		return os.Getpid(), nil
	case "env":
		return os.Environ(), nil
	case "deadline":
		deadline, _ := ctx.Deadline()
		return deadline.UnixMilli(), nil
	case "call":
		return os.Getpid(), call(order.URL)
	case "error":
		return nil, errors.New("as ordered")
	case "panic":
		panic("as ordered")
	case "exit":
		os.Exit(3)
	case "hang":
		select {}
	case "large":
		return strings.Repeat("x", 6<<20), nil
	}
	return order.Do, nil
}

// call waits for a test's permission to go on.
func call(url string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// sender is who the front end vouches for.
func sender(r *http.Request) string {
	for _, authenticate := range []func(*http.Request) (core.Identity, error){
		caller.Tokens{Tenant: "acme"}.Authenticate, caller.Signers{"123456789012": "acme"}.Authenticate,
	} {
		if id, err := authenticate(r); err == nil {
			return id.User
		}
	}
	return ""
}

func routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Add("X-Many", "1")
		w.Header().Add("X-Many", "2")
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
		http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"method": r.Method, "path": r.URL.EscapedPath(), "query": r.URL.Query(), "body": string(body),
			"cookie": r.Header.Get("Cookie"), "accept": r.Header.Get("Accept"), "caller": sender(r),
		})
	})
	mux.HandleFunc("/binary", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0, 1, 0xff}) })
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/chunks", event(func(w io.Writer, r *http.Request) {
		_ = call(r.URL.Query().Get("gate"))
		fmt.Fprint(w, "data: 2\n\n")
	}))
	mux.HandleFunc("/panic", event(func(io.Writer, *http.Request) { panic("as ordered") }))
	mux.HandleFunc("/crash", event(func(_ io.Writer, r *http.Request) {
		_ = call(r.URL.Query().Get("gate"))
		os.Exit(3)
	}))
	mux.HandleFunc("/stuck", event(func(io.Writer, *http.Request) { select {} }))
	mux.HandleFunc("/flood", event(func(w io.Writer, r *http.Request) {
		_ = call(r.URL.Query().Get("gate"))
		for range 64 {
			_, _ = w.Write(make([]byte, 64<<10))
		}
		_ = call(r.URL.Query().Get("gate"))
	}))
	return mux
}

// event responds to one event and goes on.
func event(then func(io.Writer, *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\n")
		then(w, r)
	}
}
