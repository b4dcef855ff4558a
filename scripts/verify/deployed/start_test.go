package deployed

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// rounds are the starts of each program in one go.
const rounds = 20

// starts are how long programs took from exec to their first call of the Runtime API.
type starts map[string][]time.Duration

// measure starts each program a number of times, in turn.
func (s starts) measure(tb testing.TB, names []string) {
	tb.Helper()
	for range rounds {
		for _, name := range names {
			s[name] = append(s[name], start(tb, program(tb, name)))
		}
	}
}

// of is the time that a tenth of a program's starts stayed under: others use the machine,
// which makes starts longer, and the very least of the floor is luck.
func (s starts) of(name string) time.Duration {
	sorted := slices.Sorted(slices.Values(s[name]))
	return sorted[len(sorted)/10]
}

// ratio is how much longer than its floor a program takes.
func (s starts) ratio(name string) float64 { return float64(s.of(name)) / float64(s.of(floorOf(name))) }

// floors are the programs that only link SDKs: those of DynamoDB and SQS, and what is named.
var floors = []string{"floor", "floor-bedrock", "floor-mcp", "floor-bedrock-mcp"}

// floorOf is the floor of a program, which links the same SDKs: step and stream have the
// client of Bedrock, and api and stream have the server of MCP.
func floorOf(name string) string {
	switch name {
	case "step":
		return "floor-bedrock"
	case "api":
		return "floor-mcp"
	case "stream":
		return "floor-bedrock-mcp"
	case "sweep", "trigger":
		return "floor"
	}
	return name // a floor
}

// BenchmarkStart measures, for each function, the time from exec to its first
// call of the Runtime API (of 60 starts, interleaved), beside a program that only
// links the same SDK clients (or the one whose source folder START_FLOOR names),
// and the sizes of what is deployed.
func BenchmarkStart(b *testing.B) {
	targets, took := slices.Concat(floors, functions), starts{}
	for range 3 {
		took.measure(b, targets)
	}
	for _, name := range targets {
		b.Run(name, func(b *testing.B) {
			for b.Loop() { // measured above
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(took.of(name).Microseconds())/1000, "ms-start")
			b.ReportMetric(took.ratio(name), "x-floor")
			arm := buildFor(b, "arm64", source(name), tagsOf(name))
			b.ReportMetric(float64(size(b, arm))/1e6, "MB-binary")
			b.ReportMetric(float64(zipped(b, arm))/1e6, "MB-zip")
		})
	}
}

// program builds a function, a floor, or a function of another checkout by its path.
func program(tb testing.TB, name string) string {
	tb.Helper()
	return buildFor(tb, runtime.GOARCH, source(name), tagsOf(name))
}

func tagsOf(name string) string {
	tags := uploaded
	if !strings.HasPrefix(name, "floor") {
		return tags
	}
	if !strings.Contains(name, "bedrock") {
		tags = strings.Replace(tags, "bedrock", "", 1)
	}
	if strings.Contains(name, "mcp") {
		tags += "mcp"
	}
	return tags
}

func source(name string) string {
	switch {
	case filepath.IsAbs(name):
		return name
	case !slices.Contains(floors, name):
		return "functions/" + name
	}
	if other := os.Getenv("START_FLOOR"); other != "" {
		return other
	}
	return "scripts/verify/deployed/floor"
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
