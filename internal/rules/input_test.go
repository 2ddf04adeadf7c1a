package rules_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// inputFixture has a name that is held and one that is user/1's, so that commands
// fail because of their input only.
func inputFixture(t *testing.T) *coretest.Fixture {
	f := coretest.NewFixture(t, map[string]dibs.Policy{
		"slug": {MinTTL: 10 * time.Second, MaxTTL: time.Hour, MaxHold: 90 * time.Minute, ReservedWords: dibs.WordList("admin")},
	})
	f.Must(coretest.Reserve("slug", "held", coretest.Token1), coretest.Claim("slug", "mine", coretest.User1), coretest.Claim("slug", "hers", coretest.User2))
	return f
}

// addressing returns every command that takes a namespace and a value, with the given ones.
func addressing(ns, value string) map[string]dibs.Command {
	named := dibs.Named{Value: value, Entity: coretest.User1}
	hers := dibs.Named{Value: "hers", Entity: coretest.User2}
	return map[string]dibs.Command{
		"Reserve":      coretest.Reserve(ns, value, coretest.Token2),
		"ReserveAll":   dibs.ReserveAll{Reservations: []dibs.Reserve{coretest.Reserve(ns, value, "")}},
		"ReserveFirst": dibs.ReserveFirst{Namespace: ns, Values: []string{value}},
		"Claim":        coretest.Claim(ns, value, coretest.User3),
		"Rename":       coretest.Rename(ns, value, coretest.User1),
		"Rename.From":  dibs.Rename{Namespace: ns, Value: "new", Entity: coretest.User1, From: value},
		"Decommission": coretest.Decommission(ns, value, coretest.User1),
		"Transfer":     dibs.Transfer{Namespace: ns, Value: value, From: coretest.User1, To: coretest.User3},
		"Swap.A":       dibs.Swap{Namespace: ns, A: named, B: hers},
		"Swap.B":       dibs.Swap{Namespace: ns, A: hers, B: named},
	}
}

var badTexts = map[string]struct{ text, says string }{
	"control": {"a\x00b", "control character at byte 1"},
	"newline": {"line\n", "control character at byte 4"},
	"delete":  {"\x7f", "control character at byte 0"},
	"c1":      {"a\u0085", "control character at byte 1"},
	"binary":  {"\xff\xfe\x00", "UTF-8"},
	"cut":     {"abc\xe2\x82", "UTF-8"},
}

func TestBadValue(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	try := func(t *testing.T, value, says string) {
		for verb, command := range addressing("slug", value) {
			if value == "" && verb == "Rename.From" {
				continue // it may be left out
			}
			e := f.Refused(dibs.ErrInvalidValue, command)
			if !strings.Contains(e.Message, says) {
				t.Errorf("%s: %q does not say %q", verb, e.Message, says)
			}
			if e.Namespace != "slug" {
				t.Errorf("%s: the error is about namespace %q", verb, e.Namespace)
			}
			if e.Key != "" {
				t.Errorf("%s: the error has the key %q of an invalid value", verb, e.Key)
			}
			if e.Field == "" {
				t.Errorf("%s: the error names no field", verb)
			}
		}
	}
	for name, bad := range badTexts {
		t.Run(name, func(t *testing.T) { try(t, bad.text, bad.says) })
	}
	t.Run("empty", func(t *testing.T) { try(t, "", "empty") })
	t.Run("1025 bytes", func(t *testing.T) { try(t, strings.Repeat("a", 1025), "1025 bytes") })
	t.Run("1024 bytes", func(t *testing.T) { f.Must(coretest.Reserve("slug", strings.Repeat("a", 1024), coretest.Token2)) })
	t.Run("Confirm.Replaces", func(t *testing.T) {
		f.Refused(dibs.ErrInvalidValue, dibs.Confirm{ID: dibs.NameID("slug", "held"), Token: coretest.Token1, Entity: coretest.User1, Replaces: "\n"})
	})
}

func TestBadNamespace(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	long := strings.Repeat("a", 63)
	for _, ns := range []string{
		"", ".", ".slug", "slug.", "a..slug", "Slug", "sLug", "slüg", "a b", "slug:x", "slug/x", "-slug", "_slug", "acme.-slug",
		long + "a", "a." + long + "a", "1.2.3.4.5.6.7.8.9", "slug\n", "\xff", "a{", "a`", "a@", "a/",
	} {
		t.Run(ns, func(t *testing.T) {
			for verb, command := range addressing(ns, "x") {
				if e := f.Refused(dibs.ErrInvalidNamespace, command); !strings.Contains(e.Message, "not well-formed") {
					t.Errorf("%s: %q does not say what is wrong", verb, e.Message)
				}
			}
			_, err := f.Resolve(f.Ctx, ns, "x")
			f.WantError(err, dibs.ErrInvalidNamespace)
			_, err = f.Check(f.Ctx, dibs.CheckRequest{Namespace: ns, Values: []string{"x"}})
			f.WantError(err, dibs.ErrInvalidNamespace)
			if ns != "" { // an empty scope is valid
				f.Refused(dibs.ErrInvalidNamespace, dibs.Archive{Scope: ns, Entity: coretest.User1})
				f.Refused(dibs.ErrInvalidNamespace, dibs.Restore{Scope: ns, Entity: coretest.User1})
				f.Refused(dibs.ErrInvalidNamespace, dibs.Delete{Scope: ns, Entity: coretest.User1})
			}
		})
	}
	for _, ns := range []string{"a", "0", "z9-_", long, "1.2.3.4.5.6.7.8", long + "." + long} {
		f.Must(coretest.Claim(ns, "x", coretest.User3))
	}
}

func TestBadTTL(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	ttls := []struct {
		ttl   time.Duration
		want  error
		limit string // that the message must name
	}{
		{0, dibs.ErrInvalidTTL, ""},
		{-time.Second, dibs.ErrInvalidTTL, ""},
		{time.Nanosecond, dibs.ErrInvalidTTL, ""},
		{10*time.Second - 1, dibs.ErrInvalidTTL, "10s"},
		{time.Hour + time.Millisecond, dibs.ErrTTLTooLong, "1h0m0s"},
		{1<<63 - 1, dibs.ErrTTLTooLong, "1h0m0s"},
	}
	for _, c := range ttls {
		ttl := dibs.For(c.ttl)
		for verb, command := range map[string]dibs.Command{
			"Reserve":      dibs.Reserve{Namespace: "slug", Value: "x", TTL: ttl},
			"ReserveAll":   dibs.ReserveAll{Reservations: []dibs.Reserve{{Namespace: "slug", Value: "x", TTL: ttl}}},
			"ReserveFirst": dibs.ReserveFirst{Namespace: "slug", Values: []string{"x"}, TTL: ttl},
			"Extend":       dibs.Extend{ID: dibs.NameID("slug", "held"), Token: coretest.Token1, TTL: ttl},
		} {
			e := f.Refused(c.want, command)
			if !strings.Contains(e.Message, c.limit) {
				t.Errorf("%s for %v: %q does not name the limit", verb, c.ttl, e.Message)
			}
		}
	}
	// The bounds themselves are valid. A ttl is cut to whole milliseconds.
	for i, ttl := range []time.Duration{10 * time.Second, 10*time.Second + 999, time.Hour, time.Hour + time.Millisecond - 1} {
		n := f.One(dibs.Reserve{Namespace: "slug", Value: fmt.Sprint("ok", i), TTL: dibs.For(ttl)})
		if n.Remaining != ttl.Truncate(time.Millisecond) {
			t.Errorf("a ttl of %v gave %v", ttl, n.Remaining)
		}
	}
}

// A refusal suggests only what would be accepted, and says whether a right is missing.
func TestRefusedWords(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}, ReservedWords: dibs.WordList("root")}})
	for value, want := range map[string]string{"Good!": "Good", "root!": ""} {
		if e := f.Refused(dibs.ErrInvalidValue, dibs.Reserve{Namespace: "slug", Value: value}); e.Refusal == nil || e.Refusal.Try != want {
			t.Errorf("%s: %+v, want to try %q", value, e.Refusal, want)
		}
	}
	ann := f.ActAs("ann", 0)
	for _, override := range []bool{true, false} {
		e := ann.Refused(dibs.ErrReservedWord, dibs.Reserve{Namespace: "slug", Value: "root", OverrideReserved: override})
		if strings.Contains(e.Message, "no right to override") != override {
			t.Errorf("override %v: %s", override, e.Message)
		}
	}
}

// A message shows a long value cut, between two characters, and any bytes without harm.
func TestLongValuesAreCut(t *testing.T) {
	t.Parallel()
	f := coretest.NewFixture(t, map[string]dibs.Policy{"slug": {Profile: coretest.Lower{}}})
	message := func(value string) string {
		t.Helper()
		return f.Refused(dibs.ErrInvalidValue, dibs.Reserve{Namespace: "slug", Value: value}).Message
	}
	whole := strings.Repeat("x", 79) + "!"
	if got := message(whole); !strings.Contains(got, strconv.Quote(whole)) || strings.Contains(got, "…") {
		t.Errorf("80 bytes: %s", got)
	}
	if got := message(whole + "x"); !strings.Contains(got, strconv.Quote(whole)+"…") {
		t.Errorf("81 bytes: %s", got)
	}
	if got := message(strings.Repeat("x", 79) + "é!"); !strings.Contains(got, strconv.Quote(strings.Repeat("x", 79))+"…") {
		t.Errorf("a character at the cut: %s", got)
	}
	if got := message(strings.Repeat("\x80", 100)); !strings.Contains(got, `""…`) {
		t.Errorf("no characters at all: %s", got)
	}
}

// A token is compared as a whole: one that begins or ends like it is another token.
func TestEveryCharacterOfATokenCounts(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	const token = "a-token-that-is-quite-long-0123456789"
	hold := f.One(coretest.Reserve("slug", "guarded", token))
	for _, other := range []string{token[:16], token[:len(token)-1], token + "0", token[:len(token)-1] + "8", "b" + token[1:], token[1:]} {
		f.Refused(dibs.ErrLost, dibs.Confirm{ID: hold.ID, Token: other, Entity: coretest.User3})
		f.Refused(dibs.ErrNameTaken, coretest.Reserve("slug", "guarded", other))
	}
	f.Must(dibs.Confirm{ID: hold.ID, Token: token, Entity: coretest.User3})
}

func TestBadToken(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	id := dibs.NameID("slug", "held")
	for name, token := range map[string]string{
		"15":       strings.Repeat("a", 15),
		"129":      strings.Repeat("a", 129),
		"space":    "a token with spaces",
		"tab":      "a-token-with\ta-tab",
		"NUL":      "a-token-with-a\x00",
		"delete":   "a-token-with-a\x7f",
		"umlaut":   "ein-schlüssel-fein",
		"bad utf8": "a-token-that-is\xff",
	} {
		t.Run(name, func(t *testing.T) {
			for verb, command := range map[string]dibs.Command{
				"Reserve":      coretest.Reserve("slug", "x", token),
				"ReserveAll":   dibs.ReserveAll{Reservations: []dibs.Reserve{coretest.Reserve("slug", "x", "")}, Token: token},
				"ReserveFirst": dibs.ReserveFirst{Namespace: "slug", Values: []string{"x"}, Token: token},
				"Extend":       dibs.Extend{ID: id, Token: token},
				"Confirm":      dibs.Confirm{ID: id, Token: token, Entity: coretest.User3},
				"Release":      dibs.Release{ID: id, Token: token},
				"Rename":       dibs.Rename{Namespace: "slug", Value: "held", Entity: coretest.User1, Token: token},
			} {
				e := f.Refused(dibs.ErrInvalidToken, command)
				if strings.Contains(e.Error(), token) || strings.Contains(e.Error(), fmt.Sprintf("%q", token)) {
					t.Errorf("%s: %q contains the token", verb, e)
				}
			}
		})
	}
	for i, token := range []string{strings.Repeat("!", 16), strings.Repeat("~", 128)} {
		value := fmt.Sprint("good", i)
		f.Must(coretest.Reserve("slug", value, token))
		f.Must(dibs.Release{ID: dibs.NameID("slug", value), Token: token})
	}
	// A reservation in a list may have no token of its own.
	f.Refused(dibs.ErrInvalidToken, dibs.ReserveAll{Reservations: []dibs.Reserve{coretest.Reserve("slug", "x", coretest.Token2)}, Token: coretest.Token2})
	// Without a token Reserve makes a random one.
	made := f.Must(coretest.Reserve("slug", "random", ""))[0]
	f.Must(dibs.Release{ID: made.Names[0].ID, Token: made.Token})
}

func TestBadEntity(t *testing.T) {
	t.Parallel()
	f := inputFixture(t)
	id := dibs.NameID("slug", "held")
	bad := map[string]dibs.Entity{
		"no type":   {ID: "1"},
		"no id":     {Type: "user"},
		"long type": {Type: strings.Repeat("a", 256), ID: "1"},
		"long id":   {Type: "user", ID: strings.Repeat("a", 256)},
	}
	for name, b := range badTexts {
		bad[name+" type"] = dibs.Entity{Type: b.text, ID: "1"}
		bad[name+" id"] = dibs.Entity{Type: "user", ID: b.text}
	}
	needed := func(e dibs.Entity) map[string]dibs.Command {
		named, hers := dibs.Named{Value: "mine", Entity: e}, dibs.Named{Value: "hers", Entity: coretest.User2}
		return map[string]dibs.Command{
			"Confirm":       dibs.Confirm{ID: id, Token: coretest.Token1, Entity: e},
			"Claim":         coretest.Claim("slug", "x", e),
			"Rename":        coretest.Rename("slug", "x", e),
			"Archive":       dibs.Archive{Entity: e},
			"Restore":       dibs.Restore{Entity: e},
			"Delete":        dibs.Delete{Entity: e},
			"Decommission":  coretest.Decommission("slug", "mine", e),
			"Transfer.From": dibs.Transfer{Namespace: "slug", Value: "mine", From: e, To: coretest.User1},
			"Transfer.To":   dibs.Transfer{Namespace: "slug", Value: "mine", From: coretest.User1, To: e},
			"Swap.A":        dibs.Swap{Namespace: "slug", A: named, B: hers},
			"Swap.B":        dibs.Swap{Namespace: "slug", A: hers, B: named},
		}
	}
	for name, e := range bad {
		t.Run(name, func(t *testing.T) {
			for verb, command := range needed(e) {
				if err := f.Refused(dibs.ErrInvalidEntity, command); !strings.Contains(err.Message, "the entity's") {
					t.Errorf("%s: %q does not say what is wrong", verb, err.Message)
				}
			}
			f.Refused(dibs.ErrInvalidEntity, reserveFor("slug", coretest.Token2, e))
			f.Refused(dibs.ErrInvalidEntity, dibs.ReserveFirst{Namespace: "slug", Values: []string{"x"}, Entity: e})
			f.Refused(dibs.ErrInvalidEntity, dibs.Settle{ID: id, Verdict: dibs.Exists(e)})
			_, err := f.Check(f.Ctx, dibs.CheckRequest{Namespace: "slug", Values: []string{"x"}, Entity: e})
			f.WantError(err, dibs.ErrInvalidEntity)
			_, err = f.Entity(f.Ctx, "", e)
			f.WantError(err, dibs.ErrInvalidEntity)
		})
	}
	for verb, command := range needed(noEntity) {
		t.Run("none/"+verb, func(*testing.T) { f.Refused(dibs.ErrInvalidEntity, command) })
	}
	most := dibs.Entity{Type: strings.Repeat("t", 255), ID: strings.Repeat("i", 255)}
	f.Must(coretest.Claim("slug", "most", most))
}
