package background_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/reveille"
)

// What a call says of tasks, in the order of the calls.
func TestReceiptsOfTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := running(t)
		run := p.starts("slow: 50")
		time.Sleep(time.Second)
		for _, tt := range []struct{ tool, arguments, want string }{
			{"start_agent", `{"agent_id":"lead","prompt":"x"}`, `error agent "lead" cannot be started, allowed are: helper`},
			{"start_agent", `{"agent_id":"helper","prompt":" "}`, `invalid invalid arguments: prompt is blank`},
			{"start_agent", `{"agent_id":"helper","prompt":"x","name":"a b"}`, `invalid invalid arguments: name "a b" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`},
			{"agent_status", `{"task_id":"bg_0"}`, `ok {"task_id":"bg_0","agent_id":"helper","run_id":"RUN","status":"running","steps":0}`},
			{"agent_output", `{"task_id":"bg_0"}`, `ok {"task_id":"bg_0","status":"running","output":""}`},
			{"agent_status", `{"task_id":"bg_1"}`, `error task "bg_1" does not exist`},
			{"agent_output", `{"task_id":"helper"}`, `error task "helper" does not exist`},
			{"cancel_task", `{"target":{"relation":"parent"}}`, `invalid invalid arguments: target.relation is "parent", allowed are self and child`},
			{"cancel_task", `{"target":{"relation":"child"}}`, `invalid invalid arguments: name is empty, want the id or the name of a task`},
			{"cancel_task", `{"target":{"relation":"child","name":"bg_9"}}`, `ok {"status":"failed","root_task_id":"bg_9","cancelled_count":0,"error":{"code":"task_not_found","message":"task \"bg_9\" does not exist"}}`},
			{"cancel_task", `{"target":{"relation":"child","name":"bg_0"}}`, `ok {"status":"accepted","root_task_id":"bg_0","cancelled_count":1}`},
			{"agent_status", `{"task_id":"bg_0"}`, `ok {"task_id":"bg_0","agent_id":"helper","run_id":"RUN","status":"cancelled","reason":"cancelled","steps":0}`},
			{"cancel_task", `{"target":{"relation":"child","name":"bg_0"}}`, `ok {"status":"failed","root_task_id":"bg_0","cancelled_count":0,"error":{"code":"not_running","message":"task bg_0 is over: cancelled"}}`},
		} {
			if got := p.calls(tt.tool, tt.arguments); got != strings.ReplaceAll(tt.want, "RUN", run) {
				t.Errorf("%s %s: %s, want %s", tt.tool, tt.arguments, got, tt.want)
			}
		}
	})
}

// A run that cancels itself ends cancelled.
func TestARunCancelsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := running(t)
		done, err := p.Run(t.Context(), reveille.Input{Thread: "t1", Text: `call: cancel_task {"target":{"relation":"self"}}`})
		if err != nil || done.Termination.Type != core.TerminationCancelled {
			t.Errorf("it ended %+v, %v", done.Termination, err)
		}
	})
}

// What a call says of messages, in the order of the calls.
func TestReceiptsOfMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := running(t)
		ben := p.As(core.Identity{Tenant: "local", User: "ben"})
		for r, thread := range map[*reveille.Runtime]string{p.Runtime: "t2", ben: "t3"} {
			if _, err := r.Run(t.Context(), reveille.Input{Thread: thread, Text: "hello", Agent: "helper"}); err != nil {
				t.Fatal(err)
			}
		}
		p.starts("echo: done")
		time.Sleep(time.Second)
		for _, tt := range []struct{ tool, arguments, want string }{
			{"send_message", `{"to":{"relation":"self"},"message":"x"}`, `invalid invalid arguments: to.relation is "self", allowed are parent, child and agent`},
			{"send_message", `{"to":{"relation":"parent"},"message":" "}`, `invalid invalid arguments: message is blank`},
			{"send_message", `{"to":{"relation":"child"},"message":"x"}`, `invalid invalid arguments: name is empty, want the id or the name of a task`},
			{"send_message", `{"to":{"relation":"agent"},"message":"x"}`, `invalid invalid arguments: thread_id is empty`},
			{"send_message", `{"to":{"relation":"agent","thread_id":"t2","agent_id":"a#"},"message":"x"}`, `invalid invalid arguments: agent_id "a#" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
			{"send_message", `{"to":{"relation":"parent"},"message":"x"}`, `ok {"status":"failed","error":{"code":"recipient_not_found","message":"no other run has started this one"}}`},
			{"send_message", `{"to":{"relation":"child","name":"bg_7"},"message":"x"}`, `ok {"status":"failed","error":{"code":"recipient_not_found","message":"task \"bg_7\" does not exist"}}`},
			{"send_message", `{"to":{"relation":"child","name":"bg_0"},"message":"x"}`, `ok {"status":"failed","error":{"code":"recipient_unavailable","message":"the recipient reads no more messages"}}`},
			{"send_message", `{"to":{"relation":"agent","thread_id":"t9"},"message":"x"}`, `ok {"status":"failed","error":{"code":"recipient_not_found","message":"the recipient does not exist"}}`},
			{"send_message", `{"to":{"relation":"agent","thread_id":"t3"},"message":"x"}`, `ok {"status":"failed","error":{"code":"recipient_not_found","message":"the recipient does not exist"}}`},
			{"send_message", `{"to":{"relation":"agent","thread_id":"t1"},"message":"x"}`, `ok {"status":"failed","error":{"code":"recipient_not_found","message":"the thread is that of this run"}}`},
			{"send_message", `{"to":{"relation":"agent","thread_id":"t2","agent_id":"lead"},"message":"x"}`, `ok {"status":"failed","error":{"code":"agent_not_allowed","message":"agent \"lead\" cannot be named, allowed are: helper"}}`},
			{"recover_failed_messages", `{"action":"list"}`, `ok {"messages":[]}`},
			{"recover_failed_messages", `{"action":"replay"}`, `ok {"left":0,"replayed":0}`},
			{"recover_failed_messages", `{"action":"clear"}`, `ok {"cleared":0}`},
			{"recover_failed_messages", `{"action":"drop"}`, `invalid invalid arguments: action is "drop", allowed are list, replay and clear`},
		} {
			if got := p.calls(tt.tool, tt.arguments); got != tt.want {
				t.Errorf("%s %s:\n%s, want\n%s", tt.tool, tt.arguments, got, tt.want)
			}
		}
		if got := p.calls("send_message", `{"to":{"relation":"agent","thread_id":"t2","agent_id":"helper"},"message":"what now?"}`); !strings.HasPrefix(got, `ok {"message_id":"`) || !strings.HasSuffix(got, `","status":"queued"}`) {
			t.Errorf("the receipt is %s", got)
		}
		time.Sleep(time.Second)
		said := p.said("t2")
		if want := "user: Message from the agent lead of thread t1:\nwhat now?"; len(said) != 4 || said[2] != want {
			t.Errorf("t2 has %q, want %q as the third", said, want)
		}
	})
}

// An agent in the background answers by a message to its parent, which starts a run there.
func TestAChildWritesToItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := running(t)
		p.starts(`call: send_message {\"to\":{\"relation\":\"parent\"},\"message\":\"half of it is done\"}`)
		time.Sleep(5 * time.Second)
		said := strings.Join(p.said("t1"), "\n")
		if !strings.Contains(said, "\nuser: Message from the agent helper of thread child.") || !strings.Contains(said, ":\nhalf of it is done\n") {
			t.Errorf("the parent's thread has %s", said)
		}
	})
}
