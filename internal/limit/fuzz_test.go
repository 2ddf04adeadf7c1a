package limit_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/calldibs/dibs/internal/limit"
)

// A client cannot make a server take it for another one behind a proxy that is not trusted, and
// whatever the headers are, the visitor is an address.
func FuzzVisitor(f *testing.F) {
	f.Add("203.0.113.9:1234", "198.51.100.7", `for=198.51.100.7;proto=https`)
	f.Add("10.0.0.1:1", "1.2.3.4, 10.0.0.2, [2001:db8::1]:8080", `for="[2001:db8::1%eth0]:1", for=_hidden`)
	f.Add("[::ffff:10.0.0.1]:1", ",,", `for="a,b";`)
	f.Add("@", "", "")
	f.Fuzz(func(t *testing.T, remote, chain, forwarded string) {
		r := &http.Request{RemoteAddr: remote, Header: http.Header{"X-Forwarded-For": {chain}, "Forwarded": {forwarded}}}
		trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		for _, header := range []string{"X-Forwarded-For", limit.Forwarded} {
			visitor := limit.Proxies{Trusted: trusted, Header: header}.Visitor(r)
			if visitor.Known && !visitor.Addr.IsValid() {
				t.Errorf("%s of %+v: %+v is known, and has no address", header, r, visitor)
			}
			direct := limit.Proxies{}.Visitor(r)
			if !visitor.Proxy && visitor != direct {
				t.Errorf("%s of %+v, not from a proxy: %+v, want %+v", header, r, visitor, direct)
			}
		}
	})
}

func FuzzParseRate(f *testing.F) {
	for _, text := range []string{"500/s", "10/m", "100/h", "off", "0/s", "-1/s", "1000000001/s", "5/", "+5/s", "05/s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rate, err := limit.ParseRate(text)
		if err != nil {
			return
		}
		if again, err := limit.ParseRate(rate.String()); err != nil || again != rate {
			t.Errorf("%q is %+v, written %s, and then %+v, %v", text, rate, rate, again, err)
		}
	})
}
