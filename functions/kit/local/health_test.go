//go:build unix

package local

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// limitFiles lets no file of this process grow over size, as on a full disk, until
// the function that it returns is called. No parallel test runs beside the caller.
func limitFiles(t *testing.T, size int64) (lift func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	now := before
	now.Cur = uint64(size)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &now); err != nil {
		t.Fatal(err)
	}
	lift = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(lift)
	return lift
}

// quietHost is a host on a file whose sweeps the test makes itself.
func quietHost(t *testing.T, data string) (string, *localHost) {
	t.Helper()
	s, err := settings.Read([]string{"REVEILLE_DATA=" + data, "REVEILLE_SWEEP_INTERVAL=10m"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHost(t.Context(), env.System(), s, slog.New(slog.DiscardHandler), demonstration)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h.handler)
	t.Cleanup(func() {
		server.Close()
		h.shutDown()
	})
	return server.URL, h
}

// wantHealth compares what the host says of its health; that it lives it says in any case.
func wantHealth(t *testing.T, url, when string, status int, want string) {
	t.Helper()
	if got, body := get(t, url+"/health"); got != status || strings.TrimSpace(body) != want {
		t.Errorf("%s: %d %s, want %d %s", when, got, strings.TrimSpace(body), status, want)
	}
	if got, body := get(t, url+"/health/live"); got != http.StatusOK || strings.TrimSpace(body) != `{"status":"alive"}` {
		t.Errorf("%s: it lives: %d %s", when, got, strings.TrimSpace(body))
	}
}

// fillFile makes the host's file 2 MiB long, with room for less than a quarter of that: go
// test writes smaller files, which a limit must let pass.
func fillFile(t *testing.T, h *localHost) {
	t.Helper()
	record := store.Record{Name: store.LogName(1), Payload: make([]byte, 1_500_000)}
	if err := h.file.Put(t.Context(), core.ThreadKey{Tenant: localTenant, Thread: "other"}, record); err != nil {
		t.Fatal(err)
	}
}

func TestAFullDiskIsUnhealthyUntilACommitSucceeds(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data.db")
	url, h := quietHost(t, data)
	wantHealth(t, url, "at first", http.StatusOK, `{"status":"healthy"}`)
	fillFile(t, h)
	info, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}

	lift := limitFiles(t, info.Size())
	big := store.Record{Name: store.LogName(1), Payload: make([]byte, 1<<20)}
	if err := h.file.Put(t.Context(), core.ThreadKey{Tenant: localTenant, Thread: "t1"}, big); err == nil {
		t.Fatal("a record found room on the full disk")
	}
	wantHealth(t, url, "when full", http.StatusServiceUnavailable, `{"status":"unhealthy","reason":"the data file cannot be written; the log has the reason"}`)

	lift()
	wantHealth(t, url, "with room that nobody has used", http.StatusServiceUnavailable, `{"status":"unhealthy","reason":"the data file cannot be written; the log has the reason"}`)
	if err := h.repair(t.Context()); err != nil {
		t.Error(err)
	}
	wantHealth(t, url, "after a sweep with room", http.StatusOK, `{"status":"healthy"}`)
}

func TestAFileThatIsTakenAwayIsUnhealthyUntilItIsBack(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data.db")
	url, _ := quietHost(t, data)
	if err := os.Rename(data, data+".away"); err != nil {
		t.Fatal(err)
	}
	const gone = `{"status":"unhealthy","reason":"the file was deleted, moved or replaced while it was open"}`
	wantHealth(t, url, "moved", http.StatusServiceUnavailable, gone)
	for _, other := range []string{"/healthy", "/v1/threads/t1/messages"} { // the reason is for who asks for health
		if status, body := get(t, url+other); status != http.StatusNotFound {
			t.Errorf("%s: %d %s, want 404", other, status, body)
		}
	}
	if err := os.WriteFile(data, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantHealth(t, url, "replaced", http.StatusServiceUnavailable, gone)
	if err := os.Rename(data+".away", data); err != nil {
		t.Fatal(err)
	}
	wantHealth(t, url, "back", http.StatusOK, `{"status":"healthy"}`)
}

func TestAFileThatIsCutIsUnhealthy(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data.db")
	url, _ := quietHost(t, data)
	if err := os.Truncate(data, 100); err != nil {
		t.Fatal(err)
	}
	wantHealth(t, url, "cut", http.StatusServiceUnavailable, `{"status":"unhealthy","reason":"the data file is damaged"}`)
}

func TestHealthWritesNothing(t *testing.T) {
	url, h := quietHost(t, filepath.Join(t.TempDir(), "data.db"))
	before, _ := h.file.Stats()
	for range 10 {
		get(t, url+"/health")
	}
	if after, _ := h.file.Stats(); after != before {
		t.Errorf("ten requests took the store from %+v to %+v", before, after)
	}
}

// A host was killed and the disk is full since: it starts, shows what was said, refuses
// what is new with the reason, and reports its state.
func TestAHostStartsAndReadsWithAFullDisk(t *testing.T) {
	folder := t.TempDir()
	data, left := filepath.Join(folder, "data.db"), filepath.Join(folder, "left.db")
	url, h := quietHost(t, data)
	post(t, url+"/v1/ai-sdk/chat", chat)
	fillFile(t, h)
	content, err := os.ReadFile(data) // as a kill leaves it
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, content, 0o600); err != nil {
		t.Fatal(err)
	}
	h.rest()

	lift := limitFiles(t, int64(len(content)))
	url, full := quietHost(t, left)
	if got := said(t, url, "t1"); len(got) != 4 {
		t.Errorf("the thread says %q, want 4 messages", got)
	}
	status, body := post(t, url+"/v1/threads/t2/messages", `{"messages":[{"role":"user","content":"`+strings.Repeat("x", 900<<10)+`"}]}`)
	if want := `{"error":"the disk takes no writes, it may be full; stored data can be read","code":"unavailable"}`; status != http.StatusServiceUnavailable || strings.TrimSpace(body) != want {
		t.Errorf("a write: %d %s, want 503 %s", status, body, want)
	}
	wantHealth(t, url, "when full", http.StatusServiceUnavailable, `{"status":"unhealthy","reason":"the data file cannot be written; the log has the reason"}`)

	lift()
	if err := full.repair(t.Context()); err != nil {
		t.Error(err)
	}
	if status, body := post(t, url+"/v1/threads/t2/messages", `{"messages":[{"role":"user","content":"hello"}]}`); status != http.StatusAccepted {
		t.Errorf("with room again: %d %s", status, body)
	}
}
