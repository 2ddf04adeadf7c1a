package webhook_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/calldibs/dibs/internal/webhook"
)

// This test dials no address.
func TestGuardAddresses(t *testing.T) {
	t.Parallel()
	guard := webhook.NewGuard()
	some := webhook.NewGuard(netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/32"))
	for _, c := range []struct {
		address         string
		public, allowed bool // by default, and with some prefixes allowed
	}{
		{"93.184.216.34", true, true},
		{"2606:2800:220:1:248:1893:25c8:1946", true, true},

		{"127.0.0.1", false, false},
		{"127.8.8.8", false, false},
		{"0.0.0.0", false, false},
		{"0.1.2.3", false, false},
		{"10.0.0.1", false, false},
		{"10.1.2.3", false, true},
		{"172.16.0.1", false, false},
		{"172.31.255.255", false, false},
		{"192.168.1.1", false, false},
		{"100.64.0.1", false, false},      // carrier-grade NAT
		{"169.254.169.254", false, false}, // metadata of most clouds
		{"169.254.170.2", false, false},
		{"192.0.0.192", false, false}, // metadata of another
		{"198.18.0.1", false, false},
		{"224.0.0.1", false, false},
		{"255.255.255.255", false, false},

		{"::", false, false},
		{"::1", false, false},
		{"::ffff:127.0.0.1", false, false}, // mapped
		{"::ffff:10.1.2.3", false, false},
		{"::127.0.0.1", false, false},
		{"64:ff9b::7f00:1", false, false}, // NAT64
		{"64:ff9b::a9fe:a9fe", false, false},
		{"64:ff9b:1::7f00:1", false, false},
		{"2002:7f00:1::", false, false}, // 6to4
		{"2001::1", false, false},       // Teredo
		{"fe80::1", false, false},
		{"fc00::1", false, false},
		{"fd00:1::1", false, true},
		{"fd00:ec2::254", false, false}, // metadata
		{"ff02::1", false, false},
		{"100::1", false, false},
	} {
		network := "tcp4"
		if strings.Contains(c.address, ":") {
			network = "tcp6"
		}
		address := net.JoinHostPort(c.address, "443")
		if err := guard.Check(network, address, nil); (err == nil) != c.public {
			t.Errorf("%s: %v", c.address, err)
		}
		if err := some.Check(network, address, nil); (err == nil) != c.allowed {
			t.Errorf("%s, with some prefixes allowed: %v", c.address, err)
		}
		if err := guard.Check(network, address, nil); err != nil && strings.Contains(err.Error(), c.address) {
			t.Errorf("the error contains the address: %v", err)
		}
	}
	for _, network := range []string{"udp4", "unix", "ip4"} {
		if guard.Check(network, "93.184.216.34:443", nil) == nil {
			t.Errorf("%s is allowed", network)
		}
	}
}

func TestGuardURLs(t *testing.T) {
	t.Parallel()
	guard, local := webhook.NewGuard(), webhook.NewGuard(loopback)
	for _, c := range []struct {
		url           string
		public, local bool
	}{
		{"https://example.com/dibs?x=1", true, true},
		{"https://example.com:8443/", true, true},
		{"https://93.184.216.34/", true, true},
		{"http://example.com/", false, false},
		{"http://localhost:1234/", false, true},
		{"http://127.0.0.1:1234/", false, true},
		{"https://127.0.0.1/", false, true},
		{"https://localhost/", true, true}, // the address is checked when it is dialled
		{"https://[::1]/", false, false},
		{"https://10.0.0.1/", false, false},
		{"https://169.254.169.254/latest/meta-data", false, false},
		{"ftp://example.com/", false, false},
		{"example.com", false, false},
		{"https:///path", false, false},
		{"https:example.com", false, false},
		{"https://user:secret@example.com/", false, false},
		{"https://example.com/#part", false, false},
		{"https://example.com/" + strings.Repeat("x", 2048), false, false},
		{"", false, false},
		{"https://exa mple.com/", false, false},
	} {
		if err := guard.CheckURL(c.url); (err == nil) != c.public {
			t.Errorf("%s: %v", c.url, err)
		}
		if err := local.CheckURL(c.url); (err == nil) != c.local {
			t.Errorf("%s, with loopback allowed: %v", c.url, err)
		} else if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}

// A host name of this machine is a valid URL, and is refused when it is dialled.
func TestGuardChecksTheDialledAddress(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, nil)
	_, port, err := net.SplitHostPort(receiver.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(c *webhook.Config) { c.AllowPrefixes = nil })
	hook, _ := r.hook("https://localhost:" + port + "/")
	a := r.ping(hook)
	if a.Delivered() || !strings.Contains(a.Error, "is not public") {
		t.Errorf("%+v", a)
	}
	if len(receiver.got()) > 0 {
		t.Error("the address was dialled")
	}
	// An unknown name gets the same error: a caller cannot learn which internal names exist.
	unknown, _ := r.hook("https://" + strings.Repeat("x", 64) + ".example/")
	if none := r.ping(unknown); none.Error != a.Error {
		t.Errorf("an internal name: %s\nan unknown name: %s", a.Error, none.Error)
	}
}
