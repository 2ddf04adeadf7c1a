//go:build unix

package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// hosted is a contender whose engine has processes of its own.
type hosted interface {
	processes() []int
}

// processor returns the processor time that this process and the engine's processes have used.
func (l *lab) processor(c contender) time.Duration {
	l.Helper()
	var usage syscall.Rusage
	l.must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	total := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	if h, ok := c.(hosted); ok {
		for _, pid := range h.processes() {
			total += processorOf(pid)
		}
	}
	return total
}

// tick is the unit of processor times in /proc, the same on all systems that Go runs on.
const tick = 10 * time.Millisecond

// processorOf returns the processor time of a process and of those of its children that have
// ended: PostgreSQL has a process for each connection. It is zero for a process that has ended,
// and on systems without /proc.
func processorOf(pid int) (total time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may contain anything; behind it are the state and numbers.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const utime, cstime = 11, 14
	if len(fields) <= cstime {
		return 0
	}
	for _, field := range fields[utime : cstime+1] {
		ticks, err := strconv.Atoi(string(field))
		if err != nil {
			return 0
		}
		total += time.Duration(ticks) * tick
	}
	return total
}

// metered runs work, which returns its number of calls, and returns the processor time of each
// in microseconds.
func (l *lab) metered(c contender, work func() (calls int)) float64 {
	l.Helper()
	before := l.processor(c)
	calls := work()
	used := l.processor(c) - before
	return float64(used.Nanoseconds()) / 1000 / float64(max(calls, 1))
}
