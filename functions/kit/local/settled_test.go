package local

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A person approves a call and says something new in one request: the response is a message
// behind the new one, for the stream as for whoever opens the chat later.
func TestTheResponseToAnApprovalWithANewMessageStandsBehindBoth(t *testing.T) {
	url := serveHost(t, filepath.Join(t.TempDir(), "data.db")) + "/v1/ai-sdk"
	_, asked := post(t, url+"/chat", `{"id":"t1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"approve: it"}]}]}`)
	run, call, approval := field(t, asked, "messageId"), field(t, asked, "toolCallId"), field(t, asked, "approvalId")
	const again = `{"id":"t1","messages":[{"id":"RUN","role":"assistant","parts":[{"type":"tool-danger","toolCallId":"CALL","state":"approval-responded","input":{"text":"it"},` +
		`"approval":{"id":"APPROVAL","approved":true}}]},{"id":"m2","role":"user","parts":[{"type":"text","text":"hello"}]}]}`
	status, streamed := post(t, url+"/chat", strings.NewReplacer("RUN", run, "CALL", call, "APPROVAL", approval).Replace(again))
	if got := field(t, streamed, "messageId"); status != http.StatusOK || got != run+".2" {
		t.Errorf("the response is %d, message %s, want 200 and %s.2", status, got, run)
	}
	_, body := get(t, url+"/threads/t1/messages")
	var history struct{ Messages []struct{ ID string } }
	if err := json.Unmarshal([]byte(body), &history); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range history.Messages {
		ids = append(ids, m.ID)
	}
	if diff := cmp.Diff([]string{"m1", run, "m2", run + ".2"}, ids); diff != "" {
		t.Errorf("the history (-want +got):\n%s\n%s", diff, body)
	}
}

// field is the first value of a name in a stream's events.
func field(t *testing.T, body, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `"`+name+`":"`)
	if !ok {
		t.Fatalf("no %s in %s", name, body)
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
