package main
import ("testing";"path/filepath";"time";"net/http/httptest";"log/slog"
"github.com/reveille-run/reveille/core/env"
"github.com/reveille-run/reveille/adapters/bolt"
"github.com/reveille-run/reveille/functions/app/settings")
func TestCount(t *testing.T){
	s, _ := settings.Read(nil)
	s.Data = filepath.Join(t.TempDir(), "data.db")
	h, err := newHost(t.Context(), env.System(), s, slog.New(slog.DiscardHandler))
	if err != nil { t.Fatal(err) }
	server := httptest.NewServer(h.handler)
	defer server.Close()
	defer h.close()
	file := h.file.(*bolt.Store)
	for i := range 3 {
	_ = i
	before := file.Stats()
	post(t, server.URL+"/v1/ai-sdk/chat", chat[:len(`{"id":"t`)]+string(rune('1'+i))+chat[len(`{"id":"t1`):])
	time.Sleep(100*time.Millisecond)
	after := file.Stats()
	t.Log(after.Transactions-before.Transactions, after.Syncs-before.Syncs)
	}
}
