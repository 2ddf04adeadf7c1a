package servetest_test

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// probe asks whether a server is up, over a new connection each time, until it is
// stopped. It returns the sorted durations of the answers.
func probe(t *testing.T, url string) (stop func() []time.Duration) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	stopping, took := make(chan struct{}), make(chan []time.Duration)
	go func() {
		var all []time.Duration
		pace := time.NewTicker(10 * time.Millisecond)
		defer pace.Stop()
		for {
			select {
			case <-stopping:
				slices.Sort(all)
				took <- all
				return
			case <-pace.C:
				begin := time.Now()
				if a, err := ask(client, http.MethodGet, url+"/healthz", ""); err != nil || a.status != http.StatusOK {
					t.Errorf("/healthz: %d, %v", a.status, err)
				}
				all = append(all, time.Since(begin))
			}
		}
	}()
	return func() []time.Duration {
		close(stopping)
		return <-took
	}
}

// percentile returns a percentile of sorted durations.
func percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

// cpu returns the processor time of a process; 0 if the system does not tell.
func (p *process) cpu() time.Duration {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/stat")
	if err != nil {
		return 0
	}
	_, behind, _ := strings.Cut(string(stat), ") ") // the name may contain spaces
	fields := strings.Fields(behind)
	const user, system, tick = 11, 12, 10 * time.Millisecond
	if len(fields) <= system {
		return 0
	}
	u, _ := strconv.Atoi(fields[user])
	s, _ := strconv.Atoi(fields[system])
	return time.Duration(u+s) * tick
}

var residentLine = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// resident returns the memory of a process in MB; false if the system does not tell.
func (p *process) resident() (int, bool) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0, false
	}
	line := residentLine.FindStringSubmatch(string(status))
	if line == nil {
		return 0, false
	}
	kB, err := strconv.Atoi(strings.TrimSpace(line[1]))
	return kB / 1000, err == nil
}
