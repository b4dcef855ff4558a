package main

import (
	"context"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/scripts/verify/lives"
)

// patience bounds the whole show.
const patience = 2 * time.Minute

// question has the coordinator call both specialists in one step. The researcher takes 2 s, so
// that the first kill finds it at work.
const question = "team: researcher slow: 20 | buyer approve: order"

// answer has what both have responded.
const answer = "researcher: w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20\nbuyer: Done: order"

func main() { lives.Show("team", patience, show) }

// show is what the command is for.
func show(ctx context.Context, h *lives.Host) error {
	c := &client{host: h}
	lives.Say("a user sends %q to the coordinator", question)
	researcher, err := c.ask(ctx, question, func(e event) bool { return e.of("researcher") && e.Content.Status == "running" && e.Content.Text != "" })
	if err != nil {
		return err
	}
	lives.Say("the stream shows that the researcher is at work: %s", researcher.Content.Text)
	if err := h.Restart(ctx); err != nil {
		return err
	}

	if err := c.waits(ctx); err != nil {
		return err
	}
	lives.Say("the researcher is done; the buyer wants approval of %s, the stream of the coordinator says", c.ticket.ToolName)
	if err := h.Restart(ctx); err != nil {
		return err
	}

	before := c.ticket
	if err := c.waits(ctx); err != nil {
		return err
	}
	if c.ticket != before {
		return fmt.Errorf("the buyer waits for %+v, want still %+v", c.ticket, before)
	}
	lives.Say("the same call still waits")
	if err := c.approve(ctx); err != nil {
		return err
	}
	lives.Say("approved through the run of the coordinator")
	if err := h.Restart(ctx); err != nil {
		return err
	}

	if err := c.ends(ctx); err != nil {
		return err
	}
	lives.Say("the coordinator has answered:\n%s", answer)
	return c.once(ctx)
}
