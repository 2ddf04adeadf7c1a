package docs_test

import (
	"strings"
	"testing"
)

// The Go of docs/transactions.md is that of examples, which tests run.
func TestTransactionsPageShowsTestedCode(t *testing.T) {
	t.Parallel()
	tested := withoutIndent(readText(t, "pgstore/example_product_test.go"))
	blocks := blocksOf(readText(t, "docs/transactions.md"))
	if len(blocks) < 2 {
		t.Errorf("the page has only %d blocks", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(tested, withoutIndent(b.body)) {
			t.Errorf("no example runs this code:\n%s", b.body)
		}
	}
}
