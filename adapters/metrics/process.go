package metrics

import (
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// started is about when the process began.
var started = time.Now()

// process are the figures of the process that every host has, under the names that
// dashboards know.
func process() []*family {
	samples := []metrics.Sample{{Name: "/sched/goroutines:goroutines"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(samples)
	all := []*family{
		gauge("process_start_time_seconds", "When the process began, in seconds since 1970.", float64(started.UnixMilli())/1000),
		gauge("go_goroutines", "Goroutines that exist.", float64(samples[0].Value.Uint64())),
		gauge("go_memstats_heap_alloc_bytes", "Bytes of objects on the heap.", float64(samples[1].Value.Uint64())),
		gauge("go_memstats_sys_bytes", "Bytes that Go has of the system.", float64(samples[2].Value.Uint64())),
	}
	if seconds, ok := cpuSeconds(); ok {
		f := newFamily("counter", "process_cpu_seconds_total", "Seconds of processors that the process has used.")
		f.add(seconds)
		all = append(all, f)
	}
	if bytes, ok := residentBytes(); ok {
		all = append(all, gauge("process_resident_memory_bytes", "Bytes of memory that the process holds.", bytes))
	}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil { // Linux alone
		all = append(all, gauge("process_open_fds", "Files and connections that are open.", float64(len(entries))))
	}
	return all
}

// residentBytes reads what Linux says; other systems have no such file.
func residentBytes() (float64, bool) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseUint(fields[1], 10, 64)
	return float64(pages) * float64(os.Getpagesize()), err == nil
}
