package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ownGroup puts a sandbox into its own process group: the terminal's interrupt does not
// reach it, and if the host is killed, the kernel ends its frozen sandboxes (it sends
// SIGHUP to an orphaned group with a stopped member).
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }

// freeze returns when the process has stopped, or is gone.
func freeze(pid int) {
	if unix.Kill(pid, unix.SIGSTOP) != nil {
		return
	}
	for {
		// WNOWAIT keeps the state for the function that waits for the process's end.
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

func thaw(pid int) { _ = unix.Kill(pid, unix.SIGCONT) }

// usageOf reads the kernel's counters of a process. A counter that it cannot read is 0.
func usageOf(pid int) usage {
	u := usage{at: time.Now()}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is well-formed
	for _, path := range threads {
		var nanoseconds int64
		if text, err := os.ReadFile(path); err == nil { // else the thread has ended since
			_, _ = fmt.Sscan(string(text), &nanoseconds)
		}
		u.cpu += time.Duration(nanoseconds)
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes int
	_, _ = fmt.Sscan(peak, &kilobytes)
	u.maxMemory = (kilobytes + 1023) / 1024
	return u
}
