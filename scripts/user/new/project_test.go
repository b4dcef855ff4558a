//go:build project

package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// makes runs a task of a project.
func makes(t *testing.T, folder string, arguments ...string) {
	t.Helper()
	command := exec.Command("make", arguments...)
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

// serving starts a task that serves at an address, which ends with the test, and returns
// the URL at which its host says that it listens.
func serving(t *testing.T, folder, task, address string) (url string) {
	t.Helper()
	command := exec.Command("make", task)
	command.Dir = folder
	command.Env = append(os.Environ(), "REVEILLE_ADDR="+address, "REVEILLE_MODEL=scripted")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout = command.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	log := make(chan string, 1)                                               // all of it, when the task has ended
	end := func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGTERM) } // the shell, and what it became
	t.Cleanup(func() {
		end()
		said := <-log
		if err := command.Wait(); t.Failed() {
			t.Logf("make %s: %v\n%s", task, err, said)
		}
	})
	late := time.AfterFunc(2*time.Minute, end) // make dev goes on where its host does not
	defer late.Stop()
	var said strings.Builder
	lines := bufio.NewReader(io.TeeReader(output, &said))
	for line := ""; url == "" && err == nil; {
		line, err = lines.ReadString('\n')
		if _, rest, found := strings.Cut(line, "msg=listening url="); found {
			url = strings.Fields(rest)[0]
		}
	}
	go func() { // a host whose log nobody reads would stop in the middle
		_, _ = io.Copy(io.Discard, lines)
		log <- said.String()
	}()
	if url == "" {
		t.Fatalf("make %s has ended, or was ended after two minutes, before its host listened", task)
	}
	return url
}

// freeAddress returns an address that two hosts can have one after the other. It is free
// now, and maybe not for ever.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// send sends a request, again while nobody listens, and returns the response.
func send(t *testing.T, method, url, body, last string) *http.Response {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		if last != "" {
			request.Header.Set("Last-Event-ID", last)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			t.Cleanup(func() { _ = response.Body.Close() })
			return response
		}
		if time.Now().After(deadline) {
			t.Fatalf("for two minutes nobody responds: %v", err)
		}
	}
}

func body(t *testing.T, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A project that was made in an empty folder, of modules in the cache alone, passes its
// tests, builds its functions, and its host responds to a first chat within a minute.
func TestAProjectPassesItsTestsAndChats(t *testing.T) {
	folder := makeProject(t)
	makes(t, folder, "test")
	makes(t, folder, "build-TriggerFunction", "build-SweepFunction")
	for _, name := range []string{"TriggerFunction/bootstrap", "TriggerFunction/triggers.json", "TriggerFunction/environment", "SweepFunction/bootstrap"} {
		if info, err := os.Stat(filepath.Join(folder, ".reveille", "functions", name)); err != nil || info.Size() == 0 {
			t.Errorf("make build: %s: %v", name, err)
		}
	}

	start := time.Now()
	url := serving(t, folder, "run", "127.0.0.1:0")
	got := body(t, send(t, "POST", url+"/v1/ai-sdk/chat", `{"id":"t1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"call: weather {\"city\":\"Oslo\"}"}]}]}`, ""))
	took := time.Since(start)
	if !strings.Contains(got, `"output":{"city":"Oslo","sky":"clear"}`) || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("the first chat's response is\n%s", got)
	}
	if took > time.Minute {
		t.Errorf("the first chat took %v, want a minute at most", took)
	}
	t.Logf("first chat after %v", took)
	makes(t, folder, "smoke", "URL="+url)
}

// While a run says a word every 100 ms somebody saves. The host builds and swaps, its
// stream ends, and the client comes back to the same run under the new code, which says
// all of it once. The run is so long that it is not over when the host is built.
func TestARunGoesOnWhenACodeChangeIsSaved(t *testing.T) {
	folder := makeProject(t)
	file := filepath.Join(folder, "app", "app.go")
	before := read(t, file)
	after := strings.Replace(before, "Knows the weather,", "Knows the weather by now,", 1)
	words := min(600, 150+int(40*links(t, folder, file, after).Seconds())) // a host may take 5 s more to stop
	write(t, file, before)
	start := time.Now()
	url := serving(t, folder, "dev", freeAddress(t))
	response := send(t, "POST", url+"/v1/runs", fmt.Sprintf(`{"threadId":"t1","messages":[{"role":"user","content":"slow: %d"}]}`, words), "")
	lines, err := readUntil(response.Body, "w3")
	if err != nil {
		t.Fatalf("%v in\n%s", err, lines)
	}
	t.Logf("make dev speaks after %v", time.Since(start))
	write(t, file, after)
	start = time.Now()
	rest, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a save cuts the stream after %v, a run of %d words", time.Since(start), words)
	seen := lines + string(rest)
	if strings.Contains(seen, `"event_type":"run_finish"`) {
		t.Fatal("the run ended before the host was swapped")
	}
	run := between(seen, `"run_id":"`, `"`)
	for again := 0; !strings.Contains(seen, `"event_type":"run_finish"`); again++ {
		if again == 20 {
			t.Fatalf("the client has come back 20 times and has not seen the end:\n%s", seen)
		}
		last := seen[strings.LastIndex(seen, "\nid: ")+len("\nid: "):]
		last, _, _ = strings.Cut(last, "\n")
		seen += body(t, send(t, "GET", url+"/v1/runs/"+run+"/events/stream", "", last))
	}
	t.Logf("the run has ended after %v", time.Since(start))
	var said strings.Builder
	for n := range words {
		fmt.Fprintf(&said, "w%d ", n+1)
	}
	if messages := body(t, send(t, "GET", url+"/v1/threads/t1/messages", "", "")); strings.Count(messages, strings.TrimSpace(said.String())) != 1 {
		t.Errorf("the thread has not every word once:\n%s", messages)
	}
	if agent := body(t, send(t, "GET", url+"/v1/agents/guide", "", "")); !strings.Contains(agent, "Knows the weather by now,") {
		t.Errorf("the host that runs is not the one that was saved: %s", agent)
	}
}

// links builds a project's host with another text in a file, and returns how long that
// takes here and now once everything is compiled: what remains to be done on a save.
func links(t *testing.T, folder, file, text string) (took time.Duration) {
	t.Helper()
	write(t, file, text)
	for _, name := range []string{"compiled", "linked"} { // the second has only the linker to wait for
		start := time.Now()
		command := exec.Command("go", "build", "-o", filepath.Join(t.TempDir(), name), "./dev")
		command.Dir = folder
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		took = time.Since(start)
		t.Logf("the host is %s in %v", name, took)
	}
	return took
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// readUntil reads until the text has come.
func readUntil(from io.Reader, text string) (string, error) {
	var seen strings.Builder
	buffer := make([]byte, 1024)
	for !strings.Contains(seen.String(), text) {
		n, err := from.Read(buffer)
		seen.Write(buffer[:n])
		if err != nil {
			return seen.String(), err
		}
	}
	return seen.String(), nil
}

func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return found
}

// What this repository would be as a fetched module, by a module proxy in a folder,
// makes a project that requires that version.
func TestAProjectIsMadeByTheFetchedCommand(t *testing.T) {
	const version = "v0.1.0"
	proxy := t.TempDir()
	publish(t, proxy, version)
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := t.TempDir()
	environ := append(os.Environ(), "GOMODCACHE="+modules, "GOSUMDB=off", "GOFLAGS=-modcacherw",
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(strings.TrimSpace(string(cache)), "cache", "download"))
	empty := t.TempDir()
	command := exec.Command("go", "run", reveille+"/scripts/user/new@latest", "mine", "example.com/mine")
	command.Dir, command.Env = empty, environ
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go run: %v\n%s", err, out)
	}
	file := read(t, empty, "mine", "go.mod")
	if !strings.Contains(file, reveille+" "+version+"\n") || strings.Contains(file, "replace") {
		t.Errorf("go.mod is\n%s\nwant a requirement of %s and no replacement", file, version)
	}
	checkFiles(t, filepath.Join(empty, "mine"))
	steps := steps(t, filepath.Join(empty, "mine"))
	if diff := cmp.Diff([]string{"make test", "make build"}, steps); diff != "" {
		t.Fatalf("steps of the workflow (-want +got):\n%s", diff)
	}
	runs(t, filepath.Join(empty, "mine"), steps[0], environ...) // make build takes minutes; its parts are tested above
}

// publish writes the files of this repository to a module proxy.
func publish(t *testing.T, proxy, version string) {
	t.Helper()
	folder := filepath.Join(proxy, filepath.FromSlash(reveille), "@v")
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root(t)
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for _, name := range listed {
		if nested(listed, name) {
			continue // as the go command leaves it out
		}
		text, err := os.ReadFile(filepath.Join(root(t), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and git does not know yet
		}
		w, wErr := z.Create(reveille + "@" + version + "/" + name)
		if err := errors.Join(err, wErr); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	err = errors.Join(z.Close(), os.MkdirAll(folder, 0o700),
		os.WriteFile(filepath.Join(folder, "list"), []byte(version+"\n"), 0o600),
		os.WriteFile(filepath.Join(folder, version+".info"), fmt.Appendf(nil, `{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version), 0o600),
		os.WriteFile(filepath.Join(folder, version+".mod"), []byte(read(t, root(t), "go.mod")), 0o600),
		os.WriteFile(filepath.Join(folder, version+".zip"), archive.Bytes(), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// nested reports whether a file is in a folder that is a module of its own.
func nested(listed []string, name string) bool {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if slices.Contains(listed, folder+"/go.mod") {
			return true
		}
	}
	return false
}
