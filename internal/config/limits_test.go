package config_test

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/calldibs/dibs/internal/limit"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	got := load(t, `
[limits]
reads = "10/s"
writes = "off"
checks = "6000/m"
perAddress = "1/s"
signIn = "5/h"
maxInFlight = 10000
maxWaiting = 0
maxWait = "250ms"
maxStreams = 7
maxConnections = 0
trustedProxies = ["10.1.2.3/8", "192.0.2.7", "fd00::/8"]
forwardedHeader = "forwarded"
`)
	want := limit.Limits{
		Reads: limit.Rate{N: 10, Per: time.Second}, Checks: limit.Rate{N: 6000, Per: time.Minute}, PerAddress: limit.Rate{N: 1, Per: time.Second},
		SignIn: limit.Rate{N: 5, Per: time.Hour}, MaxInFlight: 10_000, MaxWait: 250 * time.Millisecond, MaxStreams: 7, CallerShare: 75,
		Proxies: limit.Proxies{Header: limit.Forwarded, Trusted: []netip.Prefix{
			netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("fd00::/8"),
		}},
	}
	if !reflect.DeepEqual(got.Limits, want) {
		t.Errorf("%+v\nwant %+v", got.Limits, want)
	}
	// The registry's queue has room for every admitted request.
	if size := got.Dibs().QueueSize; size != 10_000 {
		t.Errorf("the queue's size is %d", size)
	}
	if plain := load(t, ""); !reflect.DeepEqual(plain.Limits, limit.Defaults()) || plain.Dibs().QueueSize != 4096 {
		t.Errorf("%+v", plain.Limits)
	}
}
