package reveille_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/reveille-run/reveille/core/reveille"
)

// service is a part of a program that speaks with users, each in threads of their own.
type service struct{ runtime *reveille.Runtime }

// say says something on a thread, in a mode, and prints what came of the run.
func (s service) say(ctx context.Context, thread, text string, mode reveille.Mode) error {
	result, err := s.runtime.Run(ctx, reveille.Input{Thread: thread, Text: text, Mode: mode})
	if err == nil {
		s.print(result, result.Run, result.Usage)
	}
	return err
}

func (service) print(result reveille.Result, run reveille.Run, usage reveille.Usage) {
	fmt.Println(result.Text, run.Steps, "step,", usage.Output > 0)
}

// list prints the threads, with their messages, and what waits.
func (s service) list(ctx context.Context) error {
	print := func(t reveille.Thread, messages []reveille.Message, waiting []reveille.Approval) {
		fmt.Println(t.ID, len(messages), "messages,", len(waiting), "calls wait")
	}
	var waiting []reveille.Approval
	for a, err := range s.runtime.Approvals(ctx) {
		if err != nil {
			return err
		}
		waiting = append(waiting, a)
	}
	for t, err := range s.runtime.Threads(ctx, reveille.ThreadQuery{}) {
		if err != nil {
			return err
		}
		var messages []reveille.Message
		for m, err := range s.runtime.Messages(ctx, t.ID) {
			if err != nil {
				return err
			}
			messages = append(messages, m)
		}
		print(t, messages, waiting)
	}
	return nil
}

// A program that speaks with an agent in several ways, with workers for what is submitted.
func ExampleRuntime() {
	r, err := reveille.New(guide(), &reveille.Options{Workers: 4, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	worked := make(chan error)
	go func() { worked <- r.Work(ctx) }()

	s := service{r.As(reveille.Identity{Tenant: "shop", User: "ann"})}
	for _, mode := range []reveille.Mode{reveille.ModeQueue, reveille.ModeSteer, reveille.ModeInterrupt} {
		if err := s.say(ctx, "t1", "hello", mode); err != nil {
			log.Fatal(err)
		}
	}
	if err := s.list(ctx); err != nil {
		log.Fatal(err)
	}
	cancel()
	fmt.Println(<-worked)
	// Output:
	// You said: hello 1 step, true
	// You said: hello 1 step, true
	// You said: hello 1 step, true
	// t1 6 messages, 0 calls wait
	// <nil>
}
