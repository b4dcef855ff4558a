//go:build killpoints

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/tool"
)

// The test build dies by SIGKILL at one named I/O point, and its tool echo
// appends the idempotency key of every execution to a file.
const (
	killAt    = "REVEILLE_KILL_AT"    // point and side: "W5.before"
	killCount = "REVEILLE_KILL_COUNT" // at which passing of it; default 1
	keyFile   = "REVEILLE_KEY_FILE"
)

func testVariables() []string { return []string{killAt, killCount, keyFile} }

func reach(next func(env.Point, env.Side)) func(env.Point, env.Side) {
	target := os.Getenv(killAt)
	count, err := strconv.ParseInt(os.Getenv(killCount), 10, 64)
	if err != nil {
		count = 1
	}
	var passed atomic.Int64
	return func(p env.Point, s env.Side) {
		next(p, s)
		if string(p)+"."+string(s) == target && passed.Add(1) == count {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // nothing more happens in this process
		}
	}
}

func testParts(parts agent.Parts) agent.Parts {
	for i, t := range parts.Tools {
		parts.Tools[i] = recorded{t}
	}
	return parts
}

// recorded writes the key of each execution before it runs the tool.
type recorded struct{ tool.Tool }

func (r recorded) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	if err := appendLine(os.Getenv(keyFile), call.Key); err != nil {
		return tool.Result{}, err
	}
	return r.Tool.Run(ctx, call)
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

// testHandler passes the point of the answer: before its first byte, after its last.
func testHandler(e *env.Env, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			h.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(&answering{ResponseWriter: w, env: e}, r)
		_ = http.NewResponseController(w).Flush()
		e.Reach(env.PointAnswer, env.After)
	})
}

type answering struct {
	http.ResponseWriter
	env  *env.Env
	once bool
}

func (a *answering) WriteHeader(status int) {
	if !a.once {
		a.once = true
		a.env.Reach(env.PointAnswer, env.Before)
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answering) Unwrap() http.ResponseWriter { return a.ResponseWriter }
