//go:build unix

package bench

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// watchMachine returns a function that says which share of the processors other programs, or
// other virtual machines, have used since. A run beside much other work says little about rates.
func (l *lab) watchMachine() func() float64 {
	l.Helper()
	begin, busy, ours := time.Now(), machineBusy(), l.ourProcessor()
	return func() float64 {
		others := (machineBusy() - busy) - (l.ourProcessor() - ours)
		return max(others.Seconds()/time.Since(begin).Seconds()/float64(runtime.NumCPU()), 0)
	}
}

// ourProcessor returns the processor time of this process, of its children that have ended, and
// of the cluster.
func (l *lab) ourProcessor() (total time.Duration) {
	l.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		l.must(syscall.Getrusage(who, &usage))
		total += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	for _, pid := range l.cluster.Processes() {
		total += processorOf(pid)
	}
	return total
}

// machineBusy returns the processor time that was used by anybody, on all processors; zero on
// systems without /proc.
func machineBusy() (total time.Duration) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	const idle, wait, steal = 4, 5, 8 // after the word cpu; guests count as users already
	for i, field := range bytes.Fields(line) {
		if i == 0 || i == idle || i == wait || i > steal {
			continue
		}
		ticks, err := strconv.Atoi(string(field))
		if err != nil {
			return 0
		}
		total += time.Duration(ticks) * tick
	}
	return total
}
