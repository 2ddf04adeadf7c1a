package dibs_test

import "testing"

// The calls of the page do what it says. Package proxytest runs its configurations.
func TestProxiesPage(t *testing.T) { t.Parallel(); runPage(t, "docs/proxies.md", 3) }
