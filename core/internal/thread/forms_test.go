package thread_test

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// form is a record and the bytes that are stored of it.
type form struct {
	name   string
	encode func() ([]byte, error)
	want   string
}

// storedForms has one of each kind of record. What is stored is stored for good:
// within a schema a known field keeps its name and its meaning.
func storedForms() []form {
	var records thread.Records
	user := core.UserMessage("is 1 < 2?").WithID("m1")
	turn := core.Message{ID: "m2", Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "c1", Name: "sum", Arguments: json.RawMessage(`{"a":1}`)}}}
	result := core.Message{ID: "m3", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "c1", Name: "sum", Data: json.RawMessage(`3`)}}
	patch := state.Patch{{Op: "add", Path: "/thread/mood", Value: json.RawMessage(`"calm"`)}}
	entry := func(e thread.Entry) func() ([]byte, error) {
		return func() ([]byte, error) { return records.EncodeEntry(&e) }
	}
	return []form{
		{
			"a user's message", entry(thread.Entry{Run: core.ID{1}, Message: &user, Input: core.ID{2}}),
			"1:1 2:" + oneID + " 5:{2:`m1` 3:1 4:{1:1 2:`is 1 < 2?`} 7:``} 8:" + twoID,
		},
		{
			"a turn",
			entry(thread.Entry{
				Run: core.ID{1}, Step: 2, Message: &turn, Patch: patch, Revision: 4, Attempt: 5,
				Totals: &thread.Totals{Usage: core.Usage{Input: 9}, Steps: 2, Failures: 1, Calls: []byte{1, 2, 3, 4}},
			}),
			"1:1 2:" + oneID + " 3:2 5:{2:`m2` 3:2 5:{1:`c1` 2:`sum` 3:`{\"a\":1}`} 7:`` 8:0} 6:{1:{1:9} 3:2 5:1 8:x01020304} 9:5 11:{1:1 2:`/thread/mood` 3:`\"calm\"`} 12:4",
		},
		{
			"a turn that names what its model was told, and sums up the records before it",
			entry(thread.Entry{Run: core.ID{1}, Step: 2, Message: &turn, Attempt: 5, Prompt: "0190ab", Sum: 4_294_967_295}),
			"1:1 2:" + oneID + " 3:2 5:{2:`m2` 3:2 5:{1:`c1` 2:`sum` 3:`{\"a\":1}`} 7:`` 8:0} 9:5 15:i4294967295 33:`0190ab`",
		},
		{
			"a result with what its call asks for",
			entry(thread.Entry{Run: core.ID{1}, Step: 2, Message: &result, Intents: &state.Command{Effects: []state.Effect{{Key: "mail"}}}}),
			"1:1 2:" + oneID + " 3:2 5:{2:`m3` 3:3 6:{1:`c1` 2:`sum` 3:`3`} 7:`` 8:0} 28:`{\"effects\":[{\"key\":\"mail\"}]}`",
		},
		{
			"a result that stands in the line of a parallel round",
			entry(thread.Entry{Run: core.ID{1}, Step: 2, Message: &result, Attempt: 5, Place: 2, Intents: &state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "mood", Update: json.RawMessage(`"calm"`)}}}}}),
			"1:1 2:" + oneID + " 3:2 5:{2:`m3` 3:3 6:{1:`c1` 2:`sum` 3:`3`} 7:`` 8:0} 9:5 18:2 28:`{\"batch\":{\"mutations\":[{\"key\":\"mood\",\"update\":\"calm\"}]}}`",
		},
		{
			"a step record", entry(thread.Entry{Run: core.ID{1}, Step: 2, Patch: patch, Revision: 5, Totals: &thread.Totals{Steps: 2}}),
			"1:1 2:" + oneID + " 3:2 6:{3:2} 11:{1:1 2:`/thread/mood` 3:`\"calm\"`} 12:5",
		},
		{
			"a step whose inference failed",
			entry(thread.Entry{
				Run: core.ID{1}, Step: 2, Failed: &thread.Failure{Kind: "overloaded", Text: "the model failed", Calls: 3, At: 9},
				Totals: &thread.Totals{Steps: 2, ErrorSteps: 1, Turns: []byte{1, 2, 3, 4, 5, 6, 7, 8}}, Attempt: 5,
			}),
			"1:1 2:" + oneID + " 3:2 6:{3:2 6:1 9:x0102030405060708} 9:5 30:`{\"kind\":\"overloaded\",\"text\":\"the model failed\",\"calls\":3,\"at\":9}`",
		},
		{
			"queued input",
			func() ([]byte, error) {
				return records.EncodeQueued(&thread.Queued{Run: core.ID{1}, Dispatch: core.ID{2}, AgentID: "demo", Messages: []core.Message{user}, CreatedAt: 3})
			},
			`{"schema":1,"run":"` + one + `","dispatch":"` + two + `","agent_id":"demo","messages":[{"id":"m1","role":"user","content":[{"type":"text","text":"is 1 < 2?"}]}],"created_at":3}`,
		},
		{
			"a run record",
			func() ([]byte, error) {
				return records.EncodeRun(&thread.RunRecord{
					Run:    core.Run{ID: core.ID{1}, ThreadID: "t", AgentID: "demo", Status: core.RunRunning, Steps: 2, CreatedAt: 3},
					Ending: &thread.Ending{Version: 7, Termination: core.Termination{Type: core.TerminationStopped, Code: "max_rounds"}}, Skipped: true,
				})
			},
			`{"schema":1,"run_id":"` + one + `","thread_id":"t","agent_id":"demo","status":"running","steps":2,"created_at":3,` +
				`"ending":{"version":7,"termination":{"type":"stopped","code":"max_rounds"}},"run_end_skipped":true}`,
		},
		{
			"a run record whose end is stored in a smaller form",
			func() ([]byte, error) {
				return records.EncodeRun(&thread.RunRecord{
					Run:    core.Run{ID: core.ID{1}, ThreadID: "t", AgentID: "demo", Status: core.RunRunning},
					Ending: &thread.Ending{Version: 7, Termination: core.Termination{Type: core.TerminationNatural}, Form: thread.FormLeast},
				})
			},
			`{"schema":1,"run_id":"` + one + `","thread_id":"t","agent_id":"demo","status":"running","steps":0,"created_at":0,"ending":{"version":7,"termination":{"type":"natural_end"},"form":4}}`,
		},
		{
			"a run record that names its trace",
			func() ([]byte, error) {
				return records.EncodeRun(&thread.RunRecord{
					Run:   core.Run{ID: core.ID{1}, ThreadID: "t", AgentID: "demo", Status: core.RunRunning},
					Trace: thread.TraceID{0x4b, 0xf9, 15: 0x36}, Sampled: true,
				})
			},
			`{"schema":1,"run_id":"` + one + `","thread_id":"t","agent_id":"demo","status":"running","steps":0,"created_at":0,` +
				`"trace_id":"4bf90000000000000000000000000036","trace_sampled":true}`,
		},
		{
			"what a model was told",
			func() ([]byte, error) {
				b, _, err := records.EncodePrompt(&thread.PromptRecord{System: "be <brief>", Tools: []thread.PromptTool{
					{Name: "sum", Description: "adds", Parameters: json.RawMessage("{\"type\": \"object\",\n\"a\":\"<\"}")}, {Name: "now"},
				}})
				return b, err
			},
			`{"schema":1,"system":"be <brief>","tools":[{"name":"sum","description":"adds","parameters":{"type":"object","a":"<"}},{"name":"now"}]}`,
		},
		{
			"that a model was told nothing",
			func() ([]byte, error) { b, _, err := records.EncodePrompt(&thread.PromptRecord{}); return b, err },
			`{"schema":1}`,
		},
		{
			"a message to another thread",
			func() ([]byte, error) {
				return records.EncodeOutbox(&thread.OutboxRecord{To: []thread.OutboxTarget{{Kind: thread.TargetThread, Thread: "t"}}, Payload: json.RawMessage(`{"text": "hi"}`)})
			},
			`{"schema":1,"to":[{"kind":"thread","thread":"t"}],"payload":{"text":"hi"}}`,
		},
		{
			"whom a cancel is for",
			func() ([]byte, error) {
				return records.EncodeOutbox(&thread.OutboxRecord{To: []thread.OutboxTarget{
					{Kind: thread.TargetRun, Thread: "t", Run: core.ID{1}}, {Kind: thread.TargetRun, Thread: "u", Run: core.ID{2}},
				}})
			},
			`{"schema":1,"to":[{"kind":"run","thread":"t","run":"` + one + `"},{"kind":"run","thread":"u","run":"` + two + `"}]}`,
		},
		{
			"what RunEnd has changed",
			func() ([]byte, error) {
				return records.Encode("end", &thread.EndRecord{At: 9, Patch: patch, Revision: 4, Command: &state.Command{Effects: []state.Effect{{Key: "mail"}}}})
			},
			`{"schema":1,"at":9,"patch":[{"op":"add","path":"/thread/mood","value":"calm"}],"revision":4,"command":{"effects":[{"key":"mail"}]}}`,
		},
		{
			"that RunEnd has changed nothing",
			func() ([]byte, error) { return records.Encode("end", &thread.EndRecord{At: 9}) },
			`{"schema":1,"at":9}`,
		},
		{
			"that an end has no room for what RunEnd has changed",
			func() ([]byte, error) {
				return records.Encode("end", &thread.EndRecord{At: 9, Form: thread.FormStateless})
			},
			`{"schema":1,"at":9,"form":3}`,
		},
		{
			"what a round that waits has come to",
			func() ([]byte, error) {
				return records.Encode("round", &thread.RoundRecord{Turn: 4, Patch: patch, Revision: 5, Merged: []int{1, 0}, Waits: []uint64{7}, Fence: 3, After: 9})
			},
			`{"schema":1,"turn":4,"patch":[{"op":"add","path":"/thread/mood","value":"calm"}],"revision":5,"merged":[1,0],"waits":[7],"fence":3,"after":9}`,
		},
		{
			"a round that waits and has come to nothing",
			func() ([]byte, error) { return records.Encode("round", &thread.RoundRecord{Turn: 4}) },
			`{"schema":1,"turn":4}`,
		},
		{
			"a summary",
			func() ([]byte, error) {
				return records.EncodeSummary(9, &thread.Summary{
					Predecessor: 4, Text: "so far", From: 6, Model: "m", Provider: "p", Usage: core.Usage{Input: 9, Output: 2}, Calls: 2, Duration: 70,
				})
			},
			`{"schema":1,"predecessor":4,"text":"so far","from":6,"model":"m","provider":"p","usage":{"input":9,"output":2},"calls":2,"duration":70}`,
		},
		{
			"a summary that was skipped",
			func() ([]byte, error) {
				return records.EncodeSummary(9, &thread.Summary{Skipped: thread.SkippedSavings})
			},
			`{"schema":1,"skipped":"savings"}`,
		},
		{
			"an audit",
			func() ([]byte, error) {
				return records.EncodeAudit(thread.AuditRecord{Run: core.ID{1}, Read: 6, Status: core.DispatchAcked})
			},
			`{"schema":1,"run":"` + one + `","read":6,"status":"acked"}`,
		},
	}
}
