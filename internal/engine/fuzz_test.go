package engine_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/engine"
)

// Neither the error about an address nor what is logged of it contains the password.
func FuzzAddress(f *testing.F) {
	f.Add("postgres", "user", "secret-of-the-user", "host/names?sslmode=maybe")
	f.Add("etcd", "user", "secret-of-the-user", "host1,host2:2379/prefix?ca=x")
	f.Add("postgresql", "", "secret-of-the-user", "?host=%2Ftmp&dibs_schema=x")
	f.Add("mem", "", "", "")
	f.Fuzz(func(t *testing.T, scheme, user, password, rest string) {
		if len(password) < 12 || strings.Contains(scheme+"://"+user+rest, password) || strings.ContainsAny(user+password+scheme, "/?#@:") || strings.Contains(rest, "@") {
			return
		}
		address := scheme + "://" + user + ":" + password + "@" + rest
		if err := engine.Check(address); err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("the error about %q contains the password: %v", address, err)
		}
		if shown := engine.Redacted(address); scheme != "sqlite" && strings.Contains(shown, password) {
			t.Errorf("%q is logged as %q", address, shown)
		}
	})
}
