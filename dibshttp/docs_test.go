package dibshttp_test

import (
	"net/http"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/calldibs/dibs/dibshttp"
)

// The table in docs/redirects.md shows the real Cache-Control of pages.
func TestDocsTableOfCacheControl(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/redirects.md")
	if err != nil {
		t.Fatal(err)
	}
	reg, _ := newRegistry(t)
	rows := regexp.MustCompile("(?m)^\\| your page[^|`]*(?:`(.*?)` )?\\| `(.*?)` \\| `(.*?)` \\|$").FindAllStringSubmatch(string(text), -1)
	if len(rows) != 4 {
		t.Fatalf("docs/redirects.md has %d rows", len(rows))
	}
	for _, row := range rows {
		for maxStale, want := range map[time.Duration]string{time.Minute: row[2], 0: row[3]} {
			url := site(t, reg, dibshttp.Config{Namespace: "slug", MaxStale: maxStale}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", row[1])
			}))
			if got := fetch(t, http.MethodGet, url+"/the-smiths", nil).header.Get("Cache-Control"); got != want {
				t.Errorf("%q becomes %q with %s, docs/redirects.md has %q", row[1], got, maxStale, want)
			}
		}
	}
}
