package nametest

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/storetest"
)

// Traces lives the whole life of a blind value, and then searches every byte of the
// engine's files, and all that was said, for the value: as it is, in any encoding, and
// by any hash that takes no key. Beside it a value has the same life that is not blind,
// and must be found, or the search proves nothing.
func Traces(t *testing.T, place func(tb testing.TB, clock *storetest.Clock) *Place) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("the seed of the values is %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	clock := storetest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	p, said := place(t, clock), &transcript{}
	hidden := &life{TB: t, secret: newSecret(random), place: p, clock: clock, said: said, kind: "email", blind: true}
	shown := &life{TB: t, secret: newSecret(random), place: p, clock: clock, said: said, kind: "mail"}
	s := &search{
		hidden: newFinder(hidden.needles(hidden.namespaces()...)),
		shown:  newFinder(shown.needles(shown.namespaces()...)),
		found:  make(map[string]map[string]bool),
	}
	for _, l := range []*life{hidden, shown} {
		l.run()
	}
	s.files(t, p) // with what is in logs of changes only
	p.close(t)
	for _, l := range []*life{hidden, shown} {
		l.refused(dibs.ErrUnavailable, l.claim(l.kind, l.main, "9"))
	}
	s.files(t, p)
	s.look(t, "what was said", said.bytes())
	s.prove(t, p, shown)
}

// search looks for two secrets: one that must be nowhere, and one that must be found.
type search struct {
	hidden, shown *finder
	found         map[string]map[string]bool // of the one that must be found, by place
}

func (s *search) files(t *testing.T, p *Place) {
	t.Helper()
	files := p.Files(t)
	if len(files) == 0 {
		t.Fatal("there are no files")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was there a moment ago
		} else if err != nil {
			t.Fatal(err)
		}
		s.look(t, file, data)
	}
}

func (s *search) look(t *testing.T, where string, hay []byte) {
	t.Helper()
	for what := range s.hidden.find(hay) {
		t.Errorf("%s has %s in it", where, what)
	}
	found := s.found[where]
	if found == nil {
		found = make(map[string]bool)
		s.found[where] = found
	}
	for what := range s.shown.find(hay) {
		found[what] = true
	}
}

// prove demands that the value which is not blind was found wherever it must be.
func (s *search) prove(t *testing.T, p *Place, shown *life) {
	t.Helper()
	if len(s.found["what was said"]) == 0 {
		t.Error("nothing was said of a value that is not blind")
	}
	for _, pattern := range p.Telling {
		matches := regexp.MustCompile(pattern)
		var forms []string
		for where, found := range s.found {
			if matches.MatchString(where) {
				for what := range found {
					forms = append(forms, what)
				}
			}
		}
		for _, what := range []string{"the text as written", shown.id(shown.kind), shown.id("scope." + shown.kind)} {
			// An ID may be written as bytes or as text.
			if !slices.ContainsFunc(forms, func(form string) bool { return strings.HasPrefix(form, what) }) {
				t.Errorf("in %s the search does not find %s", pattern, what)
			}
		}
	}
}
