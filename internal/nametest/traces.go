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

// Traces runs the whole life of a blind value, and then searches every byte of the engine's
// files, and all output, for the value: as it is, in any encoding, and by any hash without
// a key. A value that is not blind has the same life, and must be found, which proves that
// the search works.
func Traces(t *testing.T, newHarness func(tb testing.TB, clock *storetest.Clock) *Harness) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed of the values: %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	clock := storetest.NewClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	p, said := newHarness(t, clock), &transcript{}
	hidden := &life{TB: t, secret: newSecret(random), harness: p, clock: clock, said: said, kind: "email", blind: true}
	shown := &life{TB: t, secret: newSecret(random), harness: p, clock: clock, said: said, kind: "mail"}
	s := &search{
		hidden: newFinder(hidden.needles(hidden.namespaces()...)),
		shown:  newFinder(shown.needles(shown.namespaces()...)),
		found:  make(map[string]map[string]bool),
	}
	for _, l := range []*life{hidden, shown} {
		l.run()
	}
	s.files(t, p) // with data that is in write-ahead logs only
	p.close(t)
	for _, l := range []*life{hidden, shown} {
		l.refused(dibs.ErrUnavailable, l.claim(l.kind, l.main, "9"))
	}
	s.files(t, p)
	s.in(t, "the output", []byte(said.String()))
	s.prove(t, p, shown)
}

// search searches for two secrets: one that must not be found, and one that must.
type search struct {
	hidden, shown *finder
	found         map[string]map[string]bool // needles of the secret that must be found, by file
}

func (s *search) files(t *testing.T, p *Harness) {
	t.Helper()
	files := p.Files(t)
	if len(files) == 0 {
		t.Fatal("there are no files")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was just removed
		} else if err != nil {
			t.Fatal(err)
		}
		s.in(t, file, data)
	}
}

func (s *search) in(t *testing.T, where string, hay []byte) {
	t.Helper()
	for what := range s.hidden.find(hay) {
		t.Errorf("%s contains %s", where, what)
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

// prove demands that the value that is not blind was found everywhere it must be.
func (s *search) prove(t *testing.T, p *Harness, shown *life) {
	t.Helper()
	if len(s.found["the output"]) == 0 {
		t.Error("the output has no trace of a value that is not blind")
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
			// An ID may be stored as bytes or as text.
			if !slices.ContainsFunc(forms, func(form string) bool { return strings.HasPrefix(form, what) }) {
				t.Errorf("in %s the search does not find %s", pattern, what)
			}
		}
	}
}
