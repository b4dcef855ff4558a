package local

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/timer"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

// A call waits for a time while no host runs. The next host wakes it, and not before its time.
func TestATimerOutlivesItsHost(t *testing.T) {
	deployment := demonstration
	deployment.Parts = func(models map[string]agent.ModelBinding) (agent.Parts, error) {
		parts, err := demo.Parts(models)
		if err == nil {
			parts.Plugins = append(parts.Plugins, plugin.Plugin(timer.Plugin{}))
			parts.Specs[0].Plugins = append(parts.Specs[0].Plugins, timer.ID)
		}
		return parts, err
	}
	data := filepath.Join(t.TempDir(), "data")
	v := &visitor{}
	v.url, v.down = serveDeployment(t, data, deployment)
	began := time.Now()
	if got := v.says(t, `call: wait_until {"seconds":1.5,"note":"tea"}`); !strings.HasSuffix(got, "; suspended") {
		t.Fatalf("the call does not wait: %s", got)
	}
	v.down()
	v.url, v.down = serveDeployment(t, data, deployment)
	for {
		_, body := get(t, v.url+"/v1/runs/"+v.run)
		var run struct{ Status string }
		if err := json.Unmarshal([]byte(body), &run); err != nil {
			t.Fatal(err)
		}
		if run.Status == "done" {
			break
		}
		if run.Status != "waiting" && run.Status != "running" {
			t.Fatalf("the run is %s", body)
		}
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(began)
	_, messages := get(t, v.url+"/v1/threads/p/messages")
	if took < 1500*time.Millisecond || !strings.Contains(messages, `{"woken":"time","note":"tea"}`) {
		t.Errorf("after %s: %s", took, messages)
	}
}
