package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
)

// row is one line of the table: what is compared with adk-go's or with a goal.
type row struct {
	group      string // what measures it
	what       string
	ours, peer string // names of figures; peer is empty: adk-go has nothing to compare
	goal       goal
}

// goal is what ours should be. The zero goal is none: the row informs.
type goal struct {
	most  float64 // at most this
	peer  bool    // at most adk-go's, or most if that is more
	times float64 // at most so many times ...
	of    string  // ... another figure of ours
}

// rows are all that is measured, with the goals.
var rows = slices.Concat(races(), threads, sizes, units)

var threads = []row{
	{"cold", "first turn of a process, 1,000 turns, ms", "ColdTurn/turns=1000 p50-ms", "cold/disk/messages=2000 p50-ms", goal{most: 12}},
	{"cold", "first turn of a process, 4,000 turns, ms", "ColdTurn/turns=4000 p50-ms", "cold/disk/messages=8000 p50-ms", goal{most: 50}},
	{"long", "turn at 1,000 messages, in memory, ms", "LongThread/memory p50-ms", "long/memory p50-ms", goal{peer: true}},
	{"long", "turn at 1,000 messages, on disk, ms", "LongThread/bolt p50-ms", "long/disk p50-ms", goal{peer: true}},
	{"resident", "live heap of 1,000 threads in memory, MB", "ResidentThreads/memory live-MB/1000threads", "resident/memory live-MB/1000threads", goal{most: 7}}, // more than adk-go, which stores no claims, keys and lists
	{"resident", "live heap of 1,000 threads on disk, MB", "ResidentThreads/bolt live-MB/1000threads", "resident/disk live-MB/1000threads", goal{times: 1, of: "ResidentThreads/memory live-MB/1000threads"}},
	{"streams", "first text of 200 streams, median, ms", "FirstText p50-ms", "streams p50-ms", goal{most: 118, peer: true}},
	{"streams", "first text of 200 streams, 99 %, ms", "FirstText p99-ms", "streams p99-ms", goal{}},
}

var sizes = []row{
	{"objects", "objects of a streamed run", "TestStreamedRunAllocatesLittle objects", "", goal{most: 300}},
	{"objects", "KB of a streamed run", "TestStreamedRunAllocatesLittle KB", "", goal{most: 40}},
	{"core", "objects of two steps", "TwoStepBare objects", "", goal{most: 280}},
	{"core", "objects of two steps, three plugins", "TwoStep objects", "", goal{most: 330}},
	{"core", "interrupt and resume at 0 messages, ms", "InterruptResume/history-0 ms", "", goal{}},
	{"core", "interrupt and resume at 1,000 messages, ms", "InterruptResume/history-1000 ms", "", goal{times: 2, of: "InterruptResume/history-0 ms"}},
}

// units are of steps in warm processes, on DynamoDB.
var units = []row{
	{"units", "write units of a step with two calls", "calls WCU", "", goal{most: 13}},
	{"units", "write units of the last step, a text", "answer WCU", "", goal{most: 10}},
	{"units", "write units of a streamed run of both", "chat WCU", "", goal{most: 28}},
	{"units", "read units of a step with two calls", "calls RRU", "", goal{most: 2}},
	{"units", "read units of the last step, a text", "answer RRU", "", goal{most: 1}},
	{"units", "USD of AWS for 1,000 steps", "steps USD", "", goal{most: 0.0305}},
}

// races are the rows of runs of two steps over HTTP.
func races() (all []row) {
	for _, store := range []struct{ group, ours, where string }{{"memory", "memory", "in memory"}, {"disk", "bolt", "on disk"}} {
		for _, clients := range raceClients {
			load := strconv.Itoa(clients) + " clients"
			if clients == 1 {
				load = "1 client"
			}
			ours, peer := fmt.Sprintf("HostRuns/%s/clients=%d ", store.ours, clients), fmt.Sprintf("runs/%s/clients=%d ", store.group, clients)
			ahead := goal{peer: store.group == "disk" || clients > 1}
			all = append(all, row{store.group, "CPU of a run " + store.where + ", " + load + ", ms", ours + "cpu-ms/run", peer + "cpu-ms/run", ahead})
			if store.group != "disk" {
				all = append(all, row{store.group, "the same with adk-go at GOGC=100", ours + "cpu-ms/run", "gogc=100 " + peer + "cpu-ms/run", goal{}})
				continue
			}
			all = append(all,
				row{store.group, "runs a second " + store.where + ", " + load, ours + "runs/s", peer + "runs/s", goal{}},
				row{store.group, "syncs of a run, " + load, ours + "syncs/run", peer + "syncs/run", goal{}})
		}
	}
	return all
}

// verdict compares ours with the goal and returns what the table says of both.
func (r row) verdict(f figures) (wanted, result string) {
	g := r.goal
	if g == (goal{}) {
		return "-", "-"
	}
	limit, known := g.most, true
	switch {
	case g.peer:
		limit, known = max(f[r.peer], g.most), f.has(r.peer)
	case g.of != "":
		limit, known = g.times*f[g.of], f.has(g.of)
	}
	if !known || !f.has(r.ours) {
		return "?", "not measured"
	}
	if f[r.ours] <= limit {
		return "<= " + figure(limit), "met"
	}
	return "<= " + figure(limit), "missed"
}

func (f figures) has(name string) bool {
	_, ok := f[name]
	return ok
}

// shown is a figure as the table has it.
func (r row) shown(f figures, name string) string {
	if !f.has(name) {
		return "-"
	}
	return figure(f[name])
}

// figure prints a number with three digits or all of those before the point.
func figure(x float64) string {
	decimals := 0
	for limit := 100.0; x < limit && decimals < 4; limit /= 10 {
		decimals++
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// printTable prints the rows and returns how many goals are not met.
func printTable(out io.Writer, table []row, f figures) (missed int) {
	_, _ = fmt.Fprintf(out, "%-48s %10s %10s %10s  %s\n", "", "ours", "adk-go", "goal", "")
	for _, r := range table {
		wanted, result := r.verdict(f)
		_, _ = fmt.Fprintf(out, "%-48s %10s %10s %10s  %s\n", r.what, r.shown(f, r.ours), r.shown(f, r.peer), wanted, result)
		if result != "met" && result != "-" {
			missed++
		}
	}
	return missed
}
