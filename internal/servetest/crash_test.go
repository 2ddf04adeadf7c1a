package servetest_test

import (
	"fmt"
	"maps"
	"os"
	"testing"
)

// TestKilledServerLosesNothing kills a server under load, repeatedly: everything that it
// acknowledged is stored afterwards.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	rounds := 3
	if os.Getenv("DIBS_TEST_LONG") != "" {
		rounds = 30
	}
	dir, acked := t.TempDir(), make(map[string]string)
	for round := range rounds {
		p := serve(t, dir)
		load := startWriters(t, p.url, fmt.Sprint("round-", round), 16)
		await(t, "there is load", func() bool { return load.answered.Load() > int64(200+97*round) })
		p.kill(t)
		load.workers.Wait()
		if load.lost == 0 {
			t.Error("the server was not killed under load")
		}
		maps.Copy(acked, load.acked)
	}
	mustHave(t, serve(t, dir).url, acked)
}
