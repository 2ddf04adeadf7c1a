//go:build unix

package torture

import (
	"math/rand/v2"
	"testing"
)

// A late message explains why a server takes its clock to be ahead, and nothing else.
func TestWrongRefusals(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]int{
		`msg="etcdstore: this machine's clock is off by -612ms from another server's, and 1 of 2 servers differ from it by more than 500ms: it does not"`: 0,
		`msg="etcdstore: this machine's clock is off by -480ms from another server's, and 1 of 2 servers differ from it by more than 400ms: it does not"`: 1,
		`msg="etcdstore: this machine's clock is off by 501ms from another server's, and 1 of 2 servers differ from it by more than 500ms: it does not"`:  1,
		`msg="etcdstore: this machine's clock is off by 1h2m3s from another server's, and 2 of 3 servers differ from it by more than 500ms: it does not"`: 0,
		`msg="etcdstore: this machine's clock is 1.2s behind the registry's time, more than the 500ms allowed: check its time service"`:                   1,
		`msg="serving" listen=127.0.0.1:1`: 0,
	} {
		if wrong := wrongRefusals([]byte(said + "\n" + said + "\n")); len(wrong) != 2*want {
			t.Errorf("%s: %q", said, wrong)
		}
	}
}

// Jumps come near to what is allowed, from both sides.
func TestJumpsNearTheBound(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	under, over := smallest, farthest
	for range 300 {
		under, over = max(under, within(random)), min(over, beyond(random))
	}
	if under < allowed*4/5 || under >= allowed || over <= allowed || over > allowed*3/2 {
		t.Errorf("jumps of up to %v and from %v on", under, over)
	}
}
