package profile_test

import (
	"testing"

	"github.com/calldibs/dibs/profile"
)

func TestRealNamesAsUsernames(t *testing.T) {
	t.Parallel()
	for _, n := range realNames(t) {
		got, err := profile.Username{}.Canonical(n.value)
		if err != nil {
			got = "!" // for any rule
		}
		if got != n.username {
			t.Errorf("username of %q is %q (%v), want %q", n.value, got, err, n.username)
		}
	}
}
