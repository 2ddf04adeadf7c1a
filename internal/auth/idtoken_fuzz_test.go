package auth_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/authtest"
)

// FuzzVerify checks that every text is refused except the one token that was signed.
func FuzzVerify(f *testing.F) {
	v := newVerifierTest(f)
	good := v.Token(f, "alice", nil)
	parts := strings.Split(good, ".")
	f.Add(parts[0], parts[1], parts[2])
	f.Add("", "", "")
	none := strings.Split(authtest.Unsigned(f, "none", "x", v.Claims("alice", nil)), ".")
	f.Add(none[0], none[1], none[2])
	f.Add(none[0], parts[1], parts[2])
	f.Add(parts[0], "e30", parts[2])
	f.Fuzz(func(t *testing.T, header, payload, signature string) {
		caller, err := v.verifier.Verify(t.Context(), header+"."+payload+"."+signature)
		var refused *access.RefusedError
		switch {
		case err == nil && (header != parts[0] || payload != parts[1] || caller.Name != "oidc:"+v.URL+"#alice"):
			t.Errorf("%q.%q.%q is accepted as %s", header, payload, signature, caller.Name)
		case err != nil && !errors.As(err, &refused):
			t.Errorf("%q.%q.%q: %v", header, payload, signature, err)
		}
	})
}
