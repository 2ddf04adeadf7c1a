//go:build unix

package etcdstore_test

import (
	"testing"

	"github.com/calldibs/dibs/storetest"
)

func TestFence(t *testing.T) {
	t.Parallel()
	p := new(prefixes)
	storetest.RunFence(t, storetest.Harness{Open: p.open, Reopen: p.again, Share: p.again})
}
