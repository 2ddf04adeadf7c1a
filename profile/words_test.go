package profile_test

import (
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/profile"
)

func reservedWords(t testing.TB, w profile.Words) dibs.Words {
	t.Helper()
	words, err := profile.ReservedWords(w)
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// checkReserved checks that each name before the bar is reserved, and none after it.
func checkReserved(t *testing.T, words dibs.Words, names string) {
	t.Helper()
	reserved, free, _ := strings.Cut(names, "|")
	for name := range strings.FieldsSeq(reserved) {
		if !words.Reserved(name) {
			t.Errorf("%q is not reserved", name)
		}
	}
	for name := range strings.FieldsSeq(free) {
		if words.Reserved(name) {
			t.Errorf("%q is reserved", name)
		}
	}
}

func TestReservedWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words profile.Words
		names string
	}{
		"none":       {profile.Words{}, "| admin a - 42 a@b.com"},
		"a list":     {profile.Words{Lists: []profile.List{profile.Roles}}, "admin root | login adm1n аdmin administer"},
		"all lists":  {profile.Words{Lists: profile.AllLists}, "admin login www help official robots.txt .well-known | anna modern"},
		"own":        {profile.Words{Own: []string{" Berlin ", "", "mün-chen"}}, "berlin BERLIN münchen mün.chen | berliner muenchen"},
		"separators": {profile.Words{Own: []string{"login", "no-reply"}}, "log-in l.o.g.i.n __login__ noreply no.reply | login2 log~in"},
		"emails": {
			profile.Words{Own: []string{"admin"}, LookAlikes: true},
			"admin@example.com ad.min@x.de adm1n@example.com | a@dmin@x anna@admin anna@admin.com admin-anna@x.de",
		},
		"host names":    {profile.Words{Own: []string{"münchen", "localhost"}}, "xn--mnchen-3ya localhost | xn--mnchen-3ya.com"},
		"a beginning":   {profile.Words{Patterns: []string{"Admin*"}}, "admin administrator admin-anna ad-min-anna admin/x | my-admin adm1n"},
		"an end":        {profile.Words{Patterns: []string{"*-support"}}, "acme-support a-b-support | support acmesupport support-acme"},
		"a middle":      {profile.Words{Patterns: []string{"*paypal*"}}, "paypal my-paypal-account p-a-y-p-a-l | paypa1 pay"},
		"a length":      {profile.Words{Patterns: []string{"??"}}, "ab é1 a- | a abc a-b"},
		"a class":       {profile.Words{Patterns: []string{"[0-9]*"}}, "42 1st | first"},
		"a backslash":   {profile.Words{Patterns: []string{`\**`}}, "*a * | a"},
		"except a word": {profile.Words{Lists: []profile.List{profile.Roles}, Except: []string{"Guest", ""}}, "admin | guest gu-est"},
		"except a form": {profile.Words{Patterns: []string{"admin*"}, Except: []string{"administer-ltd"}}, "administer | administer-ltd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkReserved(t, reservedWords(t, c.words), c.names)
		})
	}
}

func TestReservedLookAlikes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words profile.Words
		names string
	}{
		"letters of others": {profile.Words{Own: []string{"admin", "paypal"}}, "аdmin аd-min раураl adm\u200bin adrnin | hadmin admjn"},
		"digits": {
			profile.Words{Own: []string{"admin", "support", "billing", "mail", "test"}},
			"adm1n 4dmin 4dm1n supp0rt 5upp0r7 b1lling b1111ng bi11ing ma1l t35t аdm1n | mall ail a1m 1111 adm2n bllllng t9st",
		},
		"words with digits": {profile.Words{Own: []string{"ns1", "oauth2", "aol"}}, "ns1 nsl oauth2 0auth2 a0l | ns2 ns 401 nsi"},
		"patterns":          {profile.Words{Patterns: []string{"admin*", "*-support", "what?"}}, "аdmin-anna adm1n-anna 4dmin acme-ѕupport acme-supp0rt what! | my-adm1n whɑt! acmesupport1"},
		"strange hyphens":   {profile.Words{Own: []string{"login"}}, "log‐in log–in | log+in"},
		"host names":        {profile.Words{Own: []string{"paypal"}}, "xn--pypal-4ve | xn--mnchen-3ya"},
		"except":            {profile.Words{Own: []string{"modem"}, Except: []string{"modern"}}, "modem rnodem | modern"},
		"except a word":     {profile.Words{Own: []string{"admin"}, Except: []string{"admin"}}, "| admin adm1n аdmin"},
		"signs":             {profile.Words{Patterns: []string{"ɂ*", `*⧵`}}, "ɂa a⧵ | a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.words.LookAlikes = true
			checkReserved(t, reservedWords(t, c.words), c.names)
		})
	}
}

// Every word of a list is reserved, and so are its look-alikes.
func TestReservedLists(t *testing.T) {
	t.Parallel()
	words := reservedWords(t, profile.Words{Lists: profile.AllLists, LookAlikes: true})
	for _, list := range profile.AllLists {
		for _, word := range list.Words {
			checkReserved(t, words, word)
			checkReserved(t, words, strings.ReplaceAll(strings.ReplaceAll(word, "o", "о"), "-", "_"))
		}
	}
	// Names of people, and words similar to those of the lists.
	checkReserved(t, words, "| anna lily bill mallory will chase iris adam hellen mod3l s3lma anna1 max007 4711 route66 modern mall")
}

func TestReservedWordsErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words profile.Words
		want  string
	}{
		{profile.Words{Patterns: []string{"admin*", "a[b"}}, `the pattern "a[b" is invalid`},
		{profile.Words{Patterns: []string{"x*[]"}}, `the pattern "x*[]" is invalid`},
		{profile.Words{Patterns: []string{`a\`}}, `the pattern "a\\" is invalid`},
		{profile.Words{Patterns: []string{"*"}}, `the pattern "*" reserves every name`},
		{profile.Words{Patterns: []string{"?*"}}, `the pattern "?*" reserves every name`},
		{profile.Words{Patterns: []string{"**??*"}}, `the pattern "**??*" reserves every name`},
		{profile.Words{Patterns: []string{"[^x]*"}}, `the pattern "[^x]*" reserves every name`},
		{profile.Words{Own: []string{"-_."}}, `the word "-_." has separators only`},
		{profile.Words{Lists: []profile.List{{Name: "mine", Words: []string{"a", "--"}}}}, `list "mine": the word "--" has separators only`},
	} {
		if _, err := profile.ReservedWords(c.words); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.words, err, c.want)
		}
	}
	if _, err := profile.ReservedWords(profile.Words{Patterns: []string{"????????????", "", " "}}); err != nil {
		t.Errorf("a pattern for twelve characters: %v", err)
	}
}
