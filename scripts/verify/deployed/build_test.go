package deployed

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// functions are all that get deployed.
var functions = []string{"api", "stream", "step", "sweep", "trigger"}

var builds struct {
	sync.Mutex
	folder string
	paths  map[string]string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if builds.folder != "" {
		_ = os.RemoveAll(builds.folder)
	}
	os.Exit(code)
}

// uploaded are the tags of what is deployed, notInlined its packages whose functions are
// not copied to where they are called, as the Makefile has them.
const (
	uploaded   = "lambda.norpc bedrock nethttpomithttp2 "
	notInlined = "github.com/aws/...=-l"
)

// build builds a function as `sam build` does, but for this machine, once per test run,
// and returns the path of its binary. The target is a folder of this module, or an
// absolute path into another. Tags are added to those of the deployment.
func build(tb testing.TB, target, tags string) string {
	tb.Helper()
	return buildFor(tb, runtime.GOARCH, target, uploaded+tags)
}

// deployed is build for the processor that template.yaml names: what is uploaded.
func deployed(tb testing.TB, target string) string {
	tb.Helper()
	return buildFor(tb, "arm64", target, uploaded)
}

func buildFor(tb testing.TB, processor, target, tags string) string {
	tb.Helper()
	builds.Lock()
	defer builds.Unlock()
	if builds.folder == "" {
		folder, err := os.MkdirTemp("", "reveille-deployed")
		if err != nil {
			tb.Fatal(err)
		}
		builds.folder, builds.paths = folder, map[string]string{}
	}
	key := processor + " " + target + " " + tags
	if path, ok := builds.paths[key]; ok {
		return path
	}
	path := filepath.Join(builds.folder, fmt.Sprintf("%s-%d", filepath.Base(target), len(builds.paths)))
	c := exec.Command("go", "build", "-tags", tags, "-gcflags", notInlined, "-trimpath", "-ldflags", "-s -w", "-o", path+".linked", ".")
	if c.Dir = target; !filepath.IsAbs(target) {
		c.Dir = filepath.Join("..", "..", "..", target)
	}
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+processor)
	if out, err := c.CombinedOutput(); err != nil {
		tb.Fatalf("build %s: %v\n%s", target, err, out)
	}
	copied(tb, path+".linked", path)
	builds.paths[key] = path
	return path
}

// copied moves a binary by writing it anew, as one is that comes out of a package: Linux
// keeps in small pieces what the linker wrote, page by page, and starts it a fifth slower.
func copied(tb testing.TB, from, to string) {
	tb.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.Remove(from); err != nil {
		tb.Fatal(err)
	}
}

// zipped is the size of the deployment package: the binary as bootstrap, compressed as
// the SAM CLI does, by Deflate at its usual level.
func zipped(tb testing.TB, path string) int {
	tb.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 6) })
	entry, err := w.Create("bootstrap")
	if err != nil {
		tb.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := entry.Write(b); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Len()
}

// size is the binary's.
func size(tb testing.TB, path string) int64 {
	tb.Helper()
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	return info.Size()
}
