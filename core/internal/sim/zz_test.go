package sim
import ("testing";"github.com/reveille-run/reveille/core";"github.com/reveille-run/reveille/core/internal/thread")
func TestZZ(t *testing.T){
 w:=New(Kind(17))
 m:=core.UserMessage("m1.10-898").WithID("m1.10-898")
 q,err:=w.checks.EncodeQueued(&thread.Queued{Run: core.ID{1}, Dispatch: core.ID{1}, AgentID: "short", Messages: []core.Message{m}, CreatedAt: w.millis()})
 t.Log(len(q),string(q),err)
 e,err:=w.checks.EncodeEntry(&thread.Entry{RunID: core.ID{1}, Message:&m})
 t.Log(len(e),err)
}
