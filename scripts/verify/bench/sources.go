package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// rounds is how often the programs are measured in turn; the best round counts. In memory the
// two are close, and a round takes seconds. So there are more of them.
const (
	rounds       = 3
	memoryRounds = 9
)

// raceClients are how many clients there are at a time.
var raceClients = []int{1, 16, 64}

// job is one program that prints figures.
type job struct {
	prefix string // of figures whose lines name none
	args   []string
	dir    string // where it runs; empty: here
}

// source makes the jobs of a group: ours, and adk-go's if it could be built. Figures that
// were measured before are read instead.
type source struct {
	rounds int
	jobs   func(p programs) []job
	read   func() (figures, error)
}

// programs are the paths of what was built.
type programs struct{ local, core, peer, folder string }

var sources = map[string]source{
	"memory":   {rounds: memoryRounds, jobs: func(p programs) []job { return runJobs(p, "memory", "memory") }},
	"disk":     {rounds: rounds, jobs: func(p programs) []job { return runJobs(p, "bolt", "disk") }},
	"cold":     {rounds: 1, jobs: coldJobs},
	"long":     {rounds: rounds, jobs: longJobs},
	"resident": {rounds: 1, jobs: residentJobs},
	"streams":  {rounds: memoryRounds, jobs: streamJobs},
	"objects": {rounds: 1, jobs: func(p programs) []job {
		return []job{{"", []string{p.local, "-test.v", "-test.run", "^TestStreamedRunAllocatesLittle$"}, localFolder}}
	}},
	"core": {rounds: rounds, jobs: func(p programs) []job {
		return []job{{"", []string{p.core, "-test.run", "^$", "-test.bench", "^Benchmark(TwoStep|InterruptResume)", "-test.cpu", "2", "-test.benchmem"}, coreFolder}}
	}},
	"units": {read: readUnits},
}

const localFolder, coreFolder = "functions/kit/local", "core/internal/run"

// runJobs are the races over stores: ours has one name for it, adk-go another.
func runJobs(p programs, ours, peer string) (jobs []job) {
	for _, clients := range raceClients {
		n := raceRuns(ours, clients)
		jobs = append(jobs, p.ours(fmt.Sprintf("HostRuns/%s/clients=%d", ours, clients), n))
		name := fmt.Sprintf("runs/%s/clients=%d", peer, clients)
		flags := []string{"-clients", strconv.Itoa(clients), "-runs", strconv.Itoa(n)}
		jobs = append(jobs, p.theirs(name, percentage(), flags...)...)
		if peer == "memory" {
			jobs = append(jobs, p.theirs("gogc=100 "+name, "100", flags...)...)
		}
	}
	return jobs
}

// raceRuns is how many runs a round has: a disk takes long for each.
func raceRuns(store string, clients int) int {
	switch {
	case store == "memory":
		return 1500
	case clients == 1:
		return 200
	}
	return 500
}

// coldRuns is how many processes have a first turn; the median counts.
const coldRuns = 15

func coldJobs(p programs) []job {
	jobs := []job{p.ours("ColdTurn", coldRuns)}
	for _, messages := range []string{"2000", "8000"} {
		jobs = append(jobs, p.theirs("cold/disk/messages="+messages, percentage(), "-messages", messages, "-runs", strconv.Itoa(coldRuns))...)
	}
	return jobs
}

func longJobs(p programs) []job {
	jobs := []job{p.ours("LongThread", 50)}
	for _, store := range []string{"memory", "disk"} {
		jobs = append(jobs, p.theirs("long/"+store, percentage(), "-messages", "1000", "-runs", "50")...)
	}
	return jobs
}

func residentJobs(p programs) []job {
	jobs := []job{p.ours("ResidentThreads", 1000)}
	for _, store := range []string{"memory", "disk"} {
		jobs = append(jobs, p.theirs("resident/"+store, percentage(), "-runs", "1000")...)
	}
	return jobs
}

func streamJobs(p programs) []job {
	return append([]job{p.ours("FirstText", 3)}, p.theirs("streams", percentage(), "-clients", "200")...)
}

// ours is a benchmark of the local host.
func (p programs) ours(name string, n int) job {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = "^" + parts[i] + "$"
	}
	parts[0] = "^Benchmark" + strings.TrimPrefix(parts[0], "^")
	return job{"", []string{p.local, "-test.run", "^$", "-test.bench", strings.Join(parts, "/"), "-test.benchtime", fmt.Sprint(n, "x")}, localFolder}
}

// theirs is a measure of adk-go with sessions in memory, or in a new file if the name says
// disk. There is none without adk-go.
func (p programs) theirs(name, gc string, flags ...string) []job {
	if p.peer == "" {
		return nil
	}
	words := strings.Split(name[strings.LastIndex(name, " ")+1:], "/")
	args := append([]string{p.peer, words[0], "-gc", gc}, flags...)
	if slices.Contains(words, "disk") {
		args = append(args, "-file", filepath.Join(p.folder, "sessions.db"))
	}
	return []job{{name, args, ""}}
}

// measure runs the groups of the rows and returns their figures.
func measure(out io.Writer, folder string, table []row) (figures, error) {
	var p programs
	all := figures{}
	for _, group := range groups(table) {
		s := sources[group]
		if s.jobs != nil && p == (programs{}) {
			var err error
			if p, err = build(out, folder); err != nil {
				return nil, err
			}
		}
		if s.read != nil {
			found, err := s.read()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", group, err)
			}
			all.add(found)
		}
		for i := range s.rounds {
			_, _ = fmt.Fprintf(os.Stderr, "measuring %s, round %d of %d\n", group, i+1, s.rounds)
			for _, j := range s.jobs(p) {
				found, err := j.run(folder)
				if err != nil { // the table has what the others measured
					_, _ = fmt.Fprintf(os.Stderr, "%s is not measured: %v\n", group, err)
				}
				all.add(found)
			}
		}
	}
	return all, nil
}

// build builds the programs. Without adk-go, whose module may not be fetched, it says so.
func build(out io.Writer, folder string) (p programs, err error) {
	p = programs{local: filepath.Join(folder, "local.test"), core: filepath.Join(folder, "core.test"), peer: filepath.Join(folder, "peer"), folder: folder}
	for _, program := range slices.Sorted(maps.Keys(map[string]string{p.local: "", p.core: ""})) {
		from := map[string]string{p.local: localFolder, p.core: coreFolder}[program]
		if text, err := exec.Command("go", "test", "-c", "-o", program, "./"+from).CombinedOutput(); err != nil {
			return p, fmt.Errorf("go test -c %s: %w\n%s", from, err, text)
		}
	}
	peer := exec.Command("go", "build", "-C", "scripts/verify/bench/peer", "-o", p.peer, ".")
	peer.Env = append(os.Environ(), "GOWORK=off")
	if text, err := peer.CombinedOutput(); err != nil {
		_, _ = fmt.Fprintln(out, leftOut(text))
		p.peer = ""
	}
	return p, nil
}

// leftOut says why adk-go does not run: most often its modules cannot be fetched.
func leftOut(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return fmt.Sprintf("adk-go is skipped, since its module cannot be built: %s", line)
}

// run runs the program and reads what it prints. The file of the run before is removed.
func (j job) run(folder string) (figures, error) {
	for _, end := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(filepath.Join(folder, "sessions.db"+end))
	}
	program := exec.Command(j.args[0], j.args[1:]...)
	program.Dir = j.dir
	text, err := program.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(j.args[1:], " "), err, text)
	}
	return parse(j.prefix, string(text))
}
