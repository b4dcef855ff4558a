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

// build builds a function as `sam build` does, once per test run, and returns
// the path of its binary. The target is a folder of this module, or an absolute
// path into another. Tags are added to those of the deployment.
func build(tb testing.TB, target, tags string) string {
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
	key := target + " " + tags
	if path, ok := builds.paths[key]; ok {
		return path
	}
	path := filepath.Join(builds.folder, fmt.Sprintf("%s-%d", filepath.Base(target), len(builds.paths)))
	c := exec.Command("go", "build", "-tags", "lambda.norpc "+tags, "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
	if c.Dir = target; !filepath.IsAbs(target) {
		c.Dir = filepath.Join("..", "..", target)
	}
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		tb.Fatalf("build %s: %v\n%s", target, err, out)
	}
	builds.paths[key] = path
	return path
}

// zipped is the size of the deployment package: the binary as bootstrap,
// compressed as hard as deflate can.
func zipped(tb testing.TB, path string) int {
	tb.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
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
