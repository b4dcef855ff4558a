package acp

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
)

// asks is a ticket of somebody who asks for permission.
func asks(action, parameters string) core.Ticket {
	return core.Ticket{
		Suspension: core.Suspension{ID: "s1", Action: action, Parameters: []byte(parameters)},
		CallID:     "c1", Tool: "deploy", Mode: core.ResumeReplay, Kind: core.TicketPerson,
	}
}

// An answer for always is offered only by who remembers it, and says what it is about.
func TestOptionsSayWhatIsRemembered(t *testing.T) {
	for _, test := range []struct {
		ticket core.Ticket
		want   []string
	}{
		{asks("tool:PermissionConfirm", `{"tool":"deploy"}`), []string{
			"allow_once Allow once", "allow_always Always allow deploy in this session",
			"reject_once Reject once", "reject_always Always reject deploy in this session",
		}},
		{asks("tool:PermissionConfirm", `{"tool":"deploy","rule":"deploy(to ~ 'prod*')"}`), []string{
			"allow_once Allow once", "allow_always Always allow deploy(to ~ 'prod*') in this session",
			"reject_once Reject once", "reject_always Always reject deploy(to ~ 'prod*') in this session",
		}},
		{asks("tool:deploy", ``), []string{"allow_once Allow once", "reject_once Reject once"}},
	} {
		var got []string
		for _, o := range options(test.ticket) {
			if string(o.OptionId) != string(o.Kind) {
				t.Errorf("option %s has the id %s", o.Kind, o.OptionId)
			}
			got = append(got, fmt.Sprint(o.Kind, " ", o.Name))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.ticket.Suspension.Action, diff)
		}
	}
}

func TestAnswersAreDecisions(t *testing.T) {
	plugin, tool := asks("tool:PermissionConfirm", `{}`), asks("tool:deploy", ``)
	for _, test := range []struct {
		ticket core.Ticket
		option string
		want   string // "" where the option was not offered
	}{
		{plugin, "allow_once", `resume {"approved":true} once `},
		{plugin, "allow_always", `resume {"approved":true} thread rule`},
		{plugin, "reject_once", `cancel {"approved":false} once `},
		{plugin, "reject_always", `cancel {"approved":false} thread rule`},
		{plugin, "always", ``},
		{plugin, "", ``},
		{tool, "allow_once", `resume {"approved":true} once `},
		{tool, "reject_once", `cancel {"approved":false} once `},
		{tool, "allow_always", ``},
		{tool, "reject_always", ``},
	} {
		d, ok := (&talk{}).decision(test.ticket, test.option)
		got := ""
		if ok {
			got = fmt.Sprintf("%s %s %s %s", d.Action, d.Payload, d.Remember, d.RememberAs)
			if err := d.Check(); err != nil {
				t.Errorf("%s: %v", test.option, err)
			}
		}
		if got != test.want {
			t.Errorf("%s, %s: %q, want %q", test.ticket.Suspension.Action, test.option, got, test.want)
		}
	}
}

// What is not a question for permission is nobody's here.
// The client's MCP servers are named in the log by their number: what they are started
// with may hold secrets.
func TestMCPServersArePassedOverAloud(t *testing.T) {
	var log strings.Builder
	c := &connection{log: slog.New(slog.NewTextHandler(&log, nil))}
	c.passOver("s1", nil)
	if log.Len() > 0 {
		t.Errorf("without servers: %s", &log)
	}
	c.passOver("s1", []sdk.McpServer{{Stdio: &sdk.McpServerStdio{Name: "files", Env: []sdk.EnvVariable{{Name: "TOKEN", Value: "hidden"}}}}})
	if got := log.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "session=s1 servers=1") || strings.Contains(got, "hidden") {
		t.Errorf("log %s", got)
	}
}
