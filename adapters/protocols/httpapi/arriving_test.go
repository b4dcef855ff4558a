package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/reveille-run/reveille/adapters/internal/newest"
	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
)

// mounted returns a server with a mount that reads bodies.
func mounted(mount http.Handler, maxBody int) http.Handler {
	return newServer(&fake{}, func(o *httpapi.Options) {
		o.MaxBody, o.Mounts = maxBody, map[string]http.Handler{"POST /v1/mounted/{id}": mount}
	})
}

// arrive sends a body of a known or unknown length.
func arrive(h http.Handler, body io.Reader, length int64) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/v1/mounted/x", body)
	r.ContentLength = length
	r.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

func TestBodiesOfEveryLength(t *testing.T) {
	const most = 300_000
	var got string
	h := mounted(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if got = string(text); err != nil {
			t.Error(err)
		}
	}), most)
	for _, size := range []int{2, 511, 512, 513, 1023, 1024, 65535, 65536, 65537, 65538, 131072, 131073, 131074, most - 1, most} {
		body := `"` + strings.Repeat("x", size-2) + `"`
		for name, length := range map[string]int64{"known": int64(size), "unknown": -1} {
			got = ""
			if rec := arrive(h, iotest.HalfReader(strings.NewReader(body)), length); rec.Code != 200 || got != body {
				t.Errorf("%d bytes of a length that is %s: status %d, %d bytes read", size, name, rec.Code, len(got))
			}
		}
	}
	const want = `{"error":"request body is larger than 300000 bytes: send large files by URL, and only the newest messages","code":"too_large"}`
	for _, length := range []int64{most + 1, -1} {
		got = ""
		if check(t, arrive(h, strings.NewReader(`"`+strings.Repeat("x", most-1)+`"`), length), 413, want); got != "" {
			t.Error("a refused body reached the mount")
		}
	}
}

// Of a history, a mount reads the newest messages, and knows how many are missing.
func TestAHistoryIsSkipped(t *testing.T) {
	var read, skipped int
	var last string
	h := mounted(protocol.Repeats(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		skipped = protocol.Skipped(r)
		text, err := protocol.Body(r)
		if read, last = len(text), string(text[max(0, len(text)-40):]); err != nil {
			t.Error(err)
		}
		if again, err := protocol.Body(r); err != nil || len(again) > 0 {
			t.Errorf("the request keeps %d bytes, error %v", len(again), err)
		}
	}), newest.List{Name: "messages", Known: []string{"assistant"}}), 1<<20)
	turn := `{"role":"user","text":"` + strings.Repeat("x", 975) + `"},{"role":"assistant","text":"` + strings.Repeat("y", 968) + `"},` // 2,000 bytes
	history := func(turns int) string {
		return `{"messages":[` + strings.Repeat(turn, turns) + `{"role":"user","text":"the last"}]}`
	}
	const end = `"},{"role":"user","text":"the last"}]}`
	tests := []struct {
		name    string
		turns   int
		skipped int
		read    int
	}{
		{"a short one", 100, 0, 200_048},
		{"one of 262,048 bytes", 131, 0, 262_048},
		{"one of 264,048 bytes", 132, 1, 263_047},
		{"one of 266,048 bytes", 133, 3, 263_047},
		{"one larger than MaxBody", 1000, 1737, 263_047},
		{"one of 50 MB", 25_000, 49_737, 263_047},
	}
	for _, tt := range tests {
		body := history(tt.turns)
		for name, length := range map[string]int64{"known": int64(len(body)), "unknown": -1} {
			rec := arrive(h, strings.NewReader(body), length)
			if rec.Code != 200 || skipped != tt.skipped || read != tt.read || !strings.HasSuffix(last, end) {
				t.Errorf("%s, its length %s: status %d, %d skipped, %d bytes read, at the end %s", tt.name, name, rec.Code, skipped, read, last)
			}
		}
	}
	check(t, arrive(h, strings.NewReader(history(1000)+"]"), -1), 400, `{"error":"body is not JSON at byte 2000049: unexpected ']'","code":"invalid"}`)
	check(t, arrive(h, strings.NewReader("{"), 64<<20+1), 413, `{"error":"request body is larger than 67108864 bytes: send large files by URL, and only the newest messages","code":"too_large"}`)
	check(t, arrive(h, strings.NewReader(strings.Replace(history(1000), "the last", strings.Repeat("z", 1<<20), 1)), -1), 413,
		`{"error":"request body is larger than 1048576 bytes with messages[2000], also without older messages: send large files and results by URL","code":"too_large"}`)
	// Only the values that are kept are counted.
	if rec := arrive(h, strings.NewReader(strings.Replace(history(1000), `"yy`, `"yy","z":[`+strings.Repeat("1,", 240_000)+`1],"x":"`, 1)), -1); rec.Code != 200 || skipped != 1737 {
		t.Errorf("many values in a skipped message: %d %s, %d skipped", rec.Code, rec.Body, skipped)
	}
	check(t, arrive(h, strings.NewReader(strings.Replace(history(1000), `"the last"`, `"the last","parts":[`+strings.Repeat("1,", 240_000)+`1]`, 1)), -1), 413,
		`{"error":"body has 240796 JSON values, at most 200000 are allowed: send only the newest messages, and large results as text or by URL","code":"too_large"}`)
	slowly := io.MultiReader(strings.NewReader(history(1000)[:1_000_000]), slow{})
	check(t, arrive(h, slowly, -1), 408, `{"error":"the body of the request did not arrive in time","code":"invalid"}`)
}

// Sixteen bodies of 4 MB are held at a time, until their responses start.
func TestBodiesAreHeldWithinTheirMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		respond, end := make(chan struct{}), make(chan struct{})
		h := mounted(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			<-respond
			_, _ = w.Write([]byte("x"))
			<-end
		}), 0)
		body := `"` + strings.Repeat("x", 4<<20-2) + `"`
		send := func(length int64) (code chan int) {
			code = make(chan int, 1)
			go func() { code <- arrive(h, strings.NewReader(body), length).Code }()
			synctest.Wait()
			return code
		}
		var all []chan int
		for i := range 16 {
			all = append(all, send([]int64{4 << 20, -1}[i%2]))
		}
		rec := arrive(h, strings.NewReader(body), 4<<20)
		check(t, rec, 503, `{"error":"the bodies of other requests need more than 67108864 bytes: try again later","code":"throttled"}`)
		if after := rec.Header().Get("Retry-After"); after != "5" {
			t.Errorf("Retry-After %q", after)
		}
		body = `"` + strings.Repeat("x", 64<<10-2) + `"` // a small body is not counted
		all = append(all, send(64<<10))
		close(respond)
		synctest.Wait()
		body = `"` + strings.Repeat("x", 4<<20-2) + `"`
		for range 16 {
			all = append(all, send(4<<20)) // the first ones still stream
		}
		close(end)
		for i, code := range all {
			if got := <-code; got != 200 {
				t.Errorf("body %d: status %d", i, got)
			}
		}
	})
}

// A body of 4 MB is read with one copy of it.
func TestABodyIsReadOnce(t *testing.T) {
	var size int
	h := mounted(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := protocol.Body(r)
		if size = len(text); err != nil {
			t.Error(err)
		}
	}), 0)
	body := strconv.Quote(strings.Repeat("x", 4<<20-2))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rec := arrive(h, strings.NewReader(body), int64(len(body)))
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; rec.Code != 200 || size != 4<<20 || allocated > 5<<20 {
		t.Errorf("status %d, %d bytes read, %d allocated", rec.Code, size, allocated)
	}
}
