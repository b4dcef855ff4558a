// Command main uses a local host with the client that oapi-codegen has generated in package
// api: main URL. Its output must equal ../expected.txt.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"reveille.example/openapi/api"
)

func main() {
	if err := use(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const thread = "made-by-go"

func use(ctx context.Context, url string) error {
	c, err := api.NewClientWithResponses(url)
	if err != nil {
		return err
	}
	made, err := c.PostThreadWithResponse(ctx, nil, api.Making{ThreadId: new(thread)})
	if err != nil {
		return err
	}
	fmt.Println("thread made:", made.StatusCode())
	if _, err := run(ctx, c, "echo: hello"); err != nil {
		return err
	}
	waiting, err := run(ctx, c, "approve: ship it")
	if err != nil {
		return err
	}
	if err := decide(ctx, c, waiting); err != nil {
		return err
	}
	return refused(ctx, c, waiting)
}

func said(text string) api.Submission {
	var content api.InputMessage_Content
	_ = content.FromInputMessageContent0(text) // a text always encodes
	return api.Submission{AgentId: new("demo"), Messages: &[]api.InputMessage{{Role: api.InputMessageRoleUser, Content: content}}}
}

// run sends a message, and prints the outcome of the run.
func run(ctx context.Context, c *api.ClientWithResponses, text string) (*api.Run, error) {
	got, err := c.PostMessagesWithResponse(ctx, thread, nil, said(text))
	if err != nil {
		return nil, err
	}
	if got.JSON202 == nil {
		return nil, fmt.Errorf("%s", got.Body)
	}
	if strings.HasPrefix(text, "echo") {
		fmt.Println("run queued:", got.StatusCode(), got.JSON202.Status)
	}
	return ended(ctx, c, got.JSON202.RunId)
}

// ended waits until a run is over or waits for a decision.
func ended(ctx context.Context, c *api.ClientWithResponses, id uuid.UUID) (*api.Run, error) {
	for range 200 {
		got, err := c.GetRunWithResponse(ctx, id)
		if err != nil {
			return nil, err
		}
		switch r := got.JSON200; {
		case r == nil:
			return nil, fmt.Errorf("%s", got.Body)
		case r.Status == api.RunStatusWaiting:
			ticket := (*r.Tickets)[0]
			arguments, _ := json.Marshal(ticket.Arguments)
			fmt.Println("run waiting:", ticket.ToolName, strings.ReplaceAll(string(arguments), ":", ": "), ticket.Kind)
			return r, nil
		case r.Status == api.RunStatusDone:
			fmt.Printf("run done: %s, %s\n", r.Termination.Type, *r.Response)
			return r, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, fmt.Errorf("run %s does not end", id)
}

func approvals(ctx context.Context, c *api.ClientWithResponses) error {
	got, err := c.GetApprovalsWithResponse(ctx, &api.GetApprovalsParams{Limit: new(10)})
	if err != nil {
		return err
	}
	fmt.Printf("approvals: %d, has_more %t\n", len(got.JSON200.Approvals), got.JSON200.HasMore)
	return nil
}

// decide approves what a run waits for, twice.
func decide(ctx context.Context, c *api.ClientWithResponses, waiting *api.Run) error {
	if err := approvals(ctx, c); err != nil {
		return err
	}
	ticket := (*waiting.Tickets)[0]
	decision := api.DecisionBody{SuspensionId: &ticket.SuspensionId, Action: api.DecisionBodyActionResume, DecisionId: new("d1")}
	for _, what := range []string{"decision", "decision again"} {
		got, err := c.DecideRunWithResponse(ctx, waiting.RunId, decision)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d %s, duplicate %t\n", what, got.StatusCode(), got.JSON202.Status, got.JSON202.Duplicate)
	}
	if _, err := ended(ctx, c, waiting.RunId); err != nil {
		return err
	}
	return approvals(ctx, c)
}

// refused prints the refusals of requests without a body, and of one that is wrong.
func refused(ctx context.Context, c *api.ClientWithResponses, over *api.Run) error {
	cancelled, err := c.CancelRunWithResponse(ctx, over.RunId)
	if err != nil {
		return err
	}
	fmt.Println("cancel of a run that is over:", cancelled.StatusCode(), cancelled.JSON404.Code)
	blank, err := c.PostMessagesWithResponse(ctx, thread, nil, said(" "))
	if err != nil {
		return err
	}
	fmt.Println("a message that is blank:", blank.StatusCode(), blank.JSON400.Code)
	deleted, err := c.DeleteThreadWithResponse(ctx, thread, nil)
	if err != nil {
		return err
	}
	fmt.Println("thread deleted:", deleted.StatusCode())
	read, err := c.GetThreadWithResponse(ctx, thread)
	if err != nil {
		return err
	}
	fmt.Println("thread read:", read.StatusCode(), read.JSON410.Code)
	return nil
}
