package deployed

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"
)

// rounds of starts; the least disturbed counts.
const rounds = 20

// BenchmarkStart measures, for each function, the time from exec to its first
// call of the Runtime API (the minimum of 20 starts, interleaved), beside a
// program that only links the same SDK clients (or the one whose source
// folder START_FLOOR names), and the sizes of what is deployed.
func BenchmarkStart(b *testing.B) {
	targets := append([]string{"floor"}, functions...)
	paths, least := map[string]string{}, map[string]time.Duration{}
	for _, name := range targets {
		paths[name] = build(b, source(name), "")
	}
	for range rounds {
		for _, name := range targets {
			if took := start(b, paths[name]); least[name] == 0 || took < least[name] {
				least[name] = took
			}
		}
	}
	for _, name := range targets {
		b.Run(name, func(b *testing.B) {
			for b.Loop() { // measured above
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(least[name].Microseconds())/1000, "ms-start")
			b.ReportMetric(float64(least[name])/float64(least["floor"]), "x-floor")
			uploaded := deployed(b, source(name))
			b.ReportMetric(float64(size(b, uploaded))/1e6, "MB-binary")
			b.ReportMetric(float64(zipped(b, uploaded))/1e6, "MB-zip")
		})
	}
}

func source(name string) string {
	if name != "floor" {
		return "functions/" + name
	}
	if other := os.Getenv("START_FLOOR"); other != "" {
		return other
	}
	return "scripts/deployed/floor"
}

// start runs a bootstrap until it asks for its first event.
func start(tb testing.TB, path string) time.Duration {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	asked := make(chan time.Time, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- time.Now():
		default:
		}
		<-r.Context().Done()
	})}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	c := exec.Command(path)
	c.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String(), "AWS_LAMBDA_FUNCTION_NAME=f", "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1024",
		"REVEILLE_TABLE=t", "REVEILLE_CONFIG_TABLE=c", "REVEILLE_QUEUE_URL=http://127.0.0.1:1/q", "REVEILLE_AUTH=none",
	}
	begin := time.Now()
	if err := c.Start(); err != nil {
		tb.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	select {
	case at := <-asked:
		return at.Sub(begin)
	case <-time.After(10 * time.Second):
		tb.Fatal(fmt.Errorf("%s did not ask for an event within 10 s", path))
		return 0
	}
}
