//go:build killpoints

package inject

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"os"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/functions/kit/internal/killpoints"
)

// Parts adds agents and a tool, and lets tools note their executions and models
// panic when asked.
func Parts(parts agent.Parts) (agent.Parts, error) {
	if err := addAgents(&parts); err != nil {
		return agent.Parts{}, err
	}
	for i, t := range parts.Tools {
		parts.Tools[i] = recorded{t}
	}
	parts.Tools = append(parts.Tools, newNap())
	for id, b := range parts.Models {
		b.Model = panicking{b.Model}
		parts.Models[id] = b
	}
	return parts, nil
}

// recorded writes the key of each execution before it runs the tool.
type recorded struct{ tool.Tool }

// Run implements tool.Tool.
func (r recorded) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	if err := record(call); err != nil {
		return tool.Result{}, err
	}
	return r.Tool.Run(ctx, call)
}

// record writes the key of an execution.
func record(call tool.Call) error {
	path := os.Getenv(killpoints.KeyFile)
	if path == "" {
		return nil
	}
	return appendLine(path, call.Key())
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, line); err != nil {
		return err
	}
	return f.Close()
}

// panicking panics in the middle of its response to a message that begins with
// "panic".
type panicking struct{ model.Model }

// Stream implements model.Model.
func (p panicking) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	inner := p.Model.Stream(ctx, r)
	if n := len(r.Messages); n == 0 || r.Messages[n-1].Role != core.RoleUser || !strings.HasPrefix(r.Messages[n-1].Text(), "panic") {
		return inner
	}
	return func(yield func(model.Delta, error) bool) {
		for delta, err := range inner {
			if !yield(delta, err) {
				return
			}
			panic("asked to")
		}
	}
}

// Handler passes the point of the response: before its first byte, after its last.
func Handler(e *env.Env, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			h.ServeHTTP(w, r)
			return
		}
		response := &responding{ResponseWriter: w, env: e}
		h.ServeHTTP(response, r)
		response.begin()
		_ = http.NewResponseController(w).Flush()
		response.done()
	})
}

type responding struct {
	http.ResponseWriter
	env  *env.Env
	done func() // after the response; nil: it has not begun
}

func (a *responding) begin() {
	if a.done == nil {
		a.done = a.env.Reach(killpoints.Respond)
	}
}

// WriteHeader implements http.ResponseWriter.
func (a *responding) WriteHeader(status int) {
	a.begin()
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the writer below.
func (a *responding) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Loopback reports whether webhooks may be sent to this machine, where the receivers of
// tests are.
func Loopback() bool { return true }
