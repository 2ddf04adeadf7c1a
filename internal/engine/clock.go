package engine

import (
	"os"
	"strings"
	"time"
)

// ClockVariable is for tests: the environment names a file that says how far the clock of SQLite
// and etcd stores is ahead of the machine's, such as "-90s".
const ClockVariable = "DIBS_TEST_CLOCK"

// testClock returns the clock of a test, or nil: the machine's.
func testClock() func() time.Time {
	path := os.Getenv(ClockVariable)
	if path == "" {
		return nil
	}
	return func() time.Time {
		text, err := os.ReadFile(path)
		if err != nil {
			return time.Now() // nothing has moved it
		}
		ahead, err := time.ParseDuration(strings.TrimSpace(string(text)))
		if err != nil {
			panic(err)
		}
		return time.Now().Add(ahead)
	}
}
