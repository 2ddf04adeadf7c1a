package servetest_test

import (
	"fmt"
	"maps"
	"os"
	"testing"
)

// TestKilledServerLosesNothing kills a server at work, again and again: whatever it has
// acknowledged is there afterwards.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	rounds := 3
	if os.Getenv("DIBS_TEST_LONG") != "" {
		rounds = 30
	}
	dir, acked := t.TempDir(), make(map[string]string)
	for round := range rounds {
		p := serve(t, dir)
		crowd := startCrowd(t, p.url, fmt.Sprint("round-", round), 16)
		await(t, "there is load", func() bool { return crowd.answered.Load() > int64(200+97*round) })
		p.kill(t)
		crowd.workers.Wait()
		if crowd.lost == 0 {
			t.Error("the server was not killed at work")
		}
		maps.Copy(acked, crowd.acked)
	}
	mustHave(t, serve(t, dir).url, acked)
}
