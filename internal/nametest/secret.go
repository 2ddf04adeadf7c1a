package nametest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// secret is a set of unique values: all contain one random text.
type secret struct {
	core string

	main  string // the value whose life is run
	twin  string // looks like it
	other string
	brief string // is never confirmed
	word  string // is reserved
	wrong string // is not valid
}

func newSecret(random *rand.Rand) secret {
	const letters = "abcdefghijkmnpqrtuvwxyz" // none that looks like another one
	core := make([]byte, 14)
	for i := range core {
		core[i] = letters[random.IntN(len(letters))]
		if i%2 == 0 {
			core[i] -= 'a' - 'A'
		}
	}
	s := secret{core: string(core)}
	email := func(prefix string) string { return prefix + s.core + "@Example.com" }
	s.main, s.twin, s.other = email("Lo."), email("L0."), email("other.")
	s.brief, s.word, s.wrong = email("brief."), email("root."), email("wrong!")
	return s
}

// needles are all possible forms of the values.
func (s secret) needles(namespaces ...string) []needle {
	list := textNeedles("the text", s.core)
	for _, value := range []string{s.main, s.twin, s.other, s.brief} {
		canonical := strings.ToLower(value)
		skeleton := coretest.Digits{}.Skeleton(canonical)
		texts := map[string]bool{value: true, canonical: true, skeleton: true}
		for _, namespace := range namespaces {
			texts[namespace+":"+value] = true
			for _, text := range []string{canonical, skeleton} {
				texts[namespace+":"+text] = true
				// The IDs of documents, and keyed hashes.
				for _, kind := range []dibs.Kind{dibs.KindSkeleton, dibs.KindHash} {
					texts[fmt.Sprintf("%s\x00%s:%s", kind, namespace, text)] = true
					texts[fmt.Sprintf("%s\x00%s\x00%s", kind, namespace, text)] = true
				}
			}
		}
		for text := range texts {
			list = append(list, hashNeedles(text)...)
		}
	}
	return list
}

// id is the needle of the ID of a name that is not blind.
func (s secret) id(namespace string) string {
	return fmt.Sprintf("SHA-256 of %q", namespace+":"+strings.ToLower(s.main))
}
