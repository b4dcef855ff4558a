// Command peer repeats BenchmarkHostRuns of the local host with adk-go: runs of two steps, a
// tool call and then a text. Each run has a new session that is stored in SQLite. The command
// calls adk-go's runner in its own process, without the HTTP that clients of the local host
// need. It is a separate module, so that no other program links its dependencies.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/glebarez/sqlite"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session/database"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/functiontool"
	"google.golang.org/genai"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

func main() {
	clients := flag.Int("clients", 1, "clients that run one run after another")
	runs := flag.Int("runs", 1000, "runs of all of them")
	flag.Parse()
	if err := measure(context.Background(), *clients, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

// measure prints runs a second and syncs a run.
func measure(ctx context.Context, clients, runs int) (err error) {
	folder, err := os.MkdirTemp("", "peer")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	file, err := open(filepath.Join(folder, "sessions.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r, err := newRunner(file)
	if err != nil {
		return err
	}
	if err := run(ctx, r, "first"); err != nil {
		return err
	}
	before, began := file.syncs.Load(), time.Now()
	work, failed := make(chan int), make(chan error, clients)
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for i := range work {
				if err := run(ctx, r, fmt.Sprint("s", i)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for i := range runs {
		select {
		case work <- i:
		case err := <-failed:
			return err
		}
	}
	close(work)
	wait.Wait()
	fmt.Printf("%.0f runs/s %.2f syncs/run\n", float64(runs)/time.Since(began).Seconds(), float64(file.syncs.Load()-before)/float64(runs))
	return nil
}

// newRunner makes an agent with one tool, and the runner that stores its sessions in a file.
func newRunner(file *pool) (*runner.Runner, error) {
	echo, err := functiontool.New(functiontool.Config{Name: "echo", Description: "returns its text"},
		func(_ agent.Context, a arguments) (arguments, error) { return a, nil })
	if err != nil {
		return nil, err
	}
	demo, err := llmagent.New(llmagent.Config{Name: "demo", Model: scripted{}, Tools: []tool.Tool{echo}})
	if err != nil {
		return nil, err
	}
	sessions, err := database.NewSessionService(&sqlite.Dialector{Conn: file}, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	if err := database.AutoMigrate(sessions); err != nil {
		return nil, err
	}
	return runner.New(runner.Config{AppName: "peer", Agent: demo, SessionService: sessions, AutoCreateSession: true})
}

type arguments struct {
	Text string `json:"text"`
}

// run runs one run and reads its events.
func run(ctx context.Context, r *runner.Runner, name string) error {
	text := ""
	for event, err := range r.Run(ctx, "user", name, genai.NewContentFromText("echo: hello", genai.RoleUser), agent.RunConfig{StreamingMode: agent.StreamingModeSSE}) {
		if err != nil {
			return err
		}
		if c := event.LLMResponse.Content; c != nil && len(c.Parts) > 0 {
			text = c.Parts[0].Text
		}
	}
	if text != answer {
		return fmt.Errorf("run %s ends with %q", name, text)
	}
	return nil
}

const answer = "The tool returned hello."

// scripted calls the tool, and says a text when it has the result.
type scripted struct{}

func (scripted) Name() string { return "scripted" }

func (scripted) GenerateContent(_ context.Context, request *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	content := genai.NewContentFromFunctionCall("echo", map[string]any{"text": "hello"}, genai.RoleModel)
	for _, part := range request.Contents[len(request.Contents)-1].Parts {
		if part.FunctionResponse != nil {
			content = genai.NewContentFromText(answer, genai.RoleModel)
		}
	}
	return func(yield func(*model.LLMResponse, error) bool) {
		yield(&model.LLMResponse{Content: content, TurnComplete: true, FinishReason: genai.FinishReasonStop}, nil)
	}
}
