package host

import "time"

// Report has the values of Lambda's REPORT line for an invocation, measured on this
// machine. Here a function can use the whole processor, while Lambda assigns a share
// that depends on the function's memory.
type Report struct {
	Function  string
	RequestID string
	// Duration is from the event to the request for the next one.
	Duration time.Duration
	// Init is the time from exec to the first request for an event. It is 0 for all but the
	// first invocation of a sandbox. Lambda bills it, too.
	Init time.Duration
	// CPU is the processor time that the process took in Duration, and MaxMemoryMB the
	// most memory that it has had so far, in MB of 2^20 bytes, rounded up. Both are 0
	// on systems other than Linux.
	CPU         time.Duration
	MaxMemoryMB int
}

// usage is what a process has used so far.
type usage struct {
	at        time.Time
	cpu       time.Duration
	maxMemory int // in MB
}

// reportLocked tells of an invocation that is over.
func (s *sandbox) reportLocked(inv *invocation) {
	if s.host.report == nil {
		return
	}
	now := usageOf(s.cmd.Process.Pid)
	s.host.report(Report{
		Function: s.function.Name, RequestID: inv.id, Duration: now.at.Sub(s.usage.at), Init: s.init,
		CPU: now.cpu - s.usage.cpu, MaxMemoryMB: now.maxMemory,
	})
	s.init = 0
}
