package webhook

import (
	"net/netip"
	"net/url"
	"testing"

	"github.com/calldibs/dibs"
)

// A URL that a guard without exceptions accepts has https and a host, and no address of this machine
// or its network.
func FuzzURL(f *testing.F) {
	guard := NewGuard()
	for _, text := range []string{
		"https://example.com/dibs", "https://127.0.0.1/", "https://[::1]:8443/", "https://[::ffff:10.0.0.1]/", "https://2130706433/",
		"http://example.com", "https://user@example.com", "https://example.com#x", "https:example.com", "https://169.254.169.254/latest",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if guard.CheckURL(text) != nil {
			return
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			t.Fatalf("%q is accepted", text)
		}
		ip, err := netip.ParseAddr(u.Hostname())
		if err == nil && (ip.Unmap().IsLoopback() || ip.Unmap().IsPrivate() || ip.Unmap().IsLinkLocalUnicast() || ip.Unmap().IsUnspecified()) {
			t.Errorf("%q is accepted", text)
		}
	})
}

// A damaged document is an error, and one that was read is stored the same.
func FuzzStored(f *testing.F) {
	f.Add([]byte(`{"url":"https://example.com","namespaces":["*"],"enabled":true}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := hookDocOf("hook")
		if read.decode(&dibs.Document{Kind: kindHook, Rev: 1, Label: "hook", Data: data}) != nil {
			return
		}
		first := read.record()
		again := hookDocOf("hook")
		if err := again.decode(first); err != nil {
			t.Fatalf("%s: what was read cannot be stored and read: %v", data, err)
		}
		if second := again.record(); string(second.Data) != string(first.Data) {
			t.Errorf("%s is stored as %s, and then as %s", data, first.Data, second.Data)
		}
	})
}
