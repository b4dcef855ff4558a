//go:build clients

package local

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const teamWords = "w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12"

// TestAISDKClientFollowsATeam lets the npm packages talk to an agent that waits for two others:
// the message shows what they do, and an approval of a call of one of them ends the chat.
func TestAISDKClientFollowsATeam(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	for _, name := range clients {
		t.Run(name, func(t *testing.T) {
			order := "order " + name
			researcher := `{"type":"tool-agent_run_researcher","state":"output-available","input":{"prompt":"slow: 12"},"output":"` + teamWords + `"}`
			buyer := `{"type":"tool-agent_run_buyer","state":"STATE","input":{"prompt":"approve: ` + order + `"}OUTPUT}`
			started := strings.NewReplacer("STATE", "input-available", "OUTPUT", "").Replace(buyer)
			ended := strings.NewReplacer("STATE", "output-available", "OUTPUT", `,"output":"Done: `+order+`"`).Replace(buyer)
			const step = `{"type":"step-start"}`
			text := `{"type":"text","state":"done","text":"researcher: ` + teamWords + `\nbuyer: Done: ` + order + `"}`
			question := `{"type":"dynamic-tool","toolName":"danger","state":"approval-requested","input":{"text":"` + order + `"}}`
			same(t, node(t, "team.mjs", url, name), `{"finishReasons":["tool-calls","stop"],"responses":2,"status":"ready","sameMessage":true,`+
				`"researcher":{"words":true,"last":"done"},"buyer":{"waited":true},`+
				`"waiting":[`+strings.Join([]string{step, researcher, started, step, question}, ",")+`],"same":true,"asks":false,`+
				`"parts":[`+strings.Join([]string{step, researcher, ended, step, step, text}, ",")+`],`+
				`"stored":[`+strings.Join([]string{step, researcher, ended, step, text}, ",")+`]}`)
		})
	}
}

// TestAGUIClientFollowsATeam is the same with the clients of AG-UI: activities show what the
// agents do, and the run has an interrupt.
func TestAGUIClientFollowsATeam(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db"))
	for _, name := range aguiClients {
		t.Run(name, func(t *testing.T) {
			var got json.RawMessage
			aguiNode(t, &got, "team.mjs", url, name)
			result := func(agent, response, steps string) string {
				return `{"role":"tool","content":` + quoted(`{"agent_id":"`+agent+`","status":"completed","response":"`+response+`","output":"`+response+`","steps":`+steps+`}`) + `}`
			}
			same(t, got, `{"outcomes":["interrupt",null],"interrupts":1,"about":["tool_call","buyer","danger"],`+
				`"researcher":{"words":true,"last":"done"},"buyer":{"waited":true},"shown":["buyer waiting","researcher done"],"pending":0,"messages":[`+
				`{"role":"user","content":"team: researcher slow: 12 | buyer approve: order `+name+`"},`+
				`{"role":"assistant","calls":["agent_run_researcher {\"prompt\":\"slow: 12\"}","agent_run_buyer {\"prompt\":\"approve: order `+name+`\"}"]},`+
				result("researcher", teamWords, "1")+`,`+result("buyer", "Done: order "+name, "2")+`,`+
				`{"role":"assistant","content":"researcher: `+teamWords+`\nbuyer: Done: order `+name+`"}]}`)
		})
	}
}

func quoted(text string) string {
	encoded, _ := json.Marshal(text) // a string always encodes
	return string(encoded)
}

// same compares two JSON texts.
func same(t *testing.T, got []byte, want string) {
	t.Helper()
	var values [2]any
	for i, text := range [][]byte{got, []byte(want)} {
		if err := json.Unmarshal(text, &values[i]); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	if diff := cmp.Diff(values[1], values[0]); diff != "" {
		t.Errorf("what the client has (-want +got):\n%s", diff)
	}
}
