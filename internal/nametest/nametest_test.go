package nametest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
	"github.com/calldibs/dibs/memstore"
)

// All spellings of a name look alike, and spellings of different names do not.
func TestSpellings(t *testing.T) {
	t.Parallel()
	skeletons, values := make(map[string]bool), make(map[string]bool)
	for n := range 100 {
		for i := range spellings {
			values[spell(n, i)] = true
			skeletons[coretest.Digits{}.Skeleton(spell(n, i))] = true
		}
	}
	if len(values) != 100*spellings || len(skeletons) != 100 {
		t.Errorf("%d values with %d skeletons", len(values), len(skeletons))
	}
}

// The fold finds look-alikes of two owners in a registry that does not refuse them.
func TestFoldFindsLookAlikes(t *testing.T) {
	t.Parallel()
	hold := func(value string) dibs.Command { return dibs.Reserve{Namespace: "slug", Value: value} }
	claim := func(value, id string) dibs.Command {
		return dibs.Claim{Namespace: "slug", Value: value, Entity: user(id)}
	}
	for name, c := range map[string]struct {
		commands []dibs.Command
		bad      bool
	}{
		"two entities":          {[]dibs.Command{claim("lol", "1"), claim("l0l", "2")}, true},
		"two holds":             {[]dibs.Command{hold("lol"), hold("l0l")}, true},
		"hold and entity":       {[]dibs.Command{hold("lol"), claim("l0l", "1")}, true},
		"one entity":            {[]dibs.Command{claim("lol", "1"), dibs.Rename{Namespace: "slug", Value: "l0l", Entity: user("1")}}, false},
		"sequential":            {[]dibs.Command{claim("lol", "1"), dibs.Delete{Entity: user("1")}, claim("l0l", "2")}, false},
		"separated by transfer": {[]dibs.Command{claim("lol", "1"), dibs.Rename{Namespace: "slug", Value: "l0l", Entity: user("1")}, dibs.Transfer{Namespace: "slug", Value: "lol", From: user("1"), To: user("2")}}, true},
		"not alike":             {[]dibs.Command{claim("lol", "1"), claim("lil", "2")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := coretest.MustOpen(t, memstore.New(memstore.Config{}), dibs.Config{})
			for _, command := range c.commands {
				if _, err := reg.Apply(t.Context(), command); err != nil {
					t.Fatal(err)
				}
			}
			f := newFold()
			var found error
			eachEvent(t, reg, func(e *dibs.Event) {
				if err := f.add(e); err != nil {
					found = err
				}
			})
			if (found != nil) != c.bad {
				t.Errorf("found %v", found)
			}
		})
	}
}

// The search finds a value in every form and at every offset.
func TestSearchFindsEveryForm(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	s := newSecret(random)
	f := newFinder(s.needles("email", "scope.email"))
	key := "email:" + strings.ToLower(s.main)
	id := dibs.NameID("email", strings.ToLower(s.main))
	forms := map[string][]byte{
		"as it is":   []byte(s.main),
		"lower case": []byte(strings.ToLower(s.main)),
		"query":      []byte(url.QueryEscape(s.main)),
		"hex":        []byte(hex.EncodeToString([]byte(s.main))),
		"UTF-16LE":   utf16Bytes(s.main, binary.LittleEndian),
		"UTF-16BE":   utf16Bytes(s.main, binary.BigEndian),
		"id":         id[:],
		"id as text": []byte(strings.TrimPrefix(id.String(), "res_")),
		"id as uuid": fmt.Appendf(nil, "%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]),
		"id in HEX":  fmt.Appendf(nil, "%X", id[:]),
	}
	for before := range 3 {
		text := append([]byte("<<<"[:before]), s.main...)
		forms[fmt.Sprint("base64 at ", before)] = []byte(base64.StdEncoding.EncodeToString(text))
		forms[fmt.Sprint("base64url at ", before)] = []byte(base64.URLEncoding.EncodeToString(text))
	}
	for name, digest := range digests {
		forms[name] = digest([]byte(key))
		forms[name+" in base64"] = []byte(base64.StdEncoding.EncodeToString(digest([]byte(s.main))))
	}
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	if found := f.find(noise); len(found) > 0 {
		t.Fatalf("found %v in noise", found)
	}
	for name, form := range forms {
		for _, hay := range [][]byte{form, append(bytes.Clone(noise), form...), append(bytes.Clone(form), noise...)} {
			if len(f.find(hay)) == 0 {
				t.Errorf("%s is not found", name)
			}
		}
	}
}
