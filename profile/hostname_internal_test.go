package profile

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The fast path for ASCII has the results of IDNA.
func TestASCIILabelsAreEncodedAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-zA-Z0-9-]{1,66}|[ -~]{1,8}|[a-c-]{1,6}`).Draw(t, "value")
		if isEncoded(value) || strings.Contains(value, ".") {
			t.Skip("not for the short way")
		}
		label, _, ok := encodeLabel(value)
		want, err := strictLabels.ToASCII(value)
		hyphens := strings.HasPrefix(value, "-") || strings.HasSuffix(value, "-") || strings.HasPrefix(value[min(2, len(value)):], "--")
		if wantOK := err == nil && !hyphens && len(want) <= maxLabel; ok != wantOK || (ok && label != want) {
			t.Errorf("%q becomes %q, %v; IDNA has %q, %v", value, label, ok, want, err)
		}
	})
}
