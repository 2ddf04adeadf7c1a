package profile_test

import (
	"regexp"
	"slices"
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

func everyWord(t testing.TB) profile.Words {
	t.Helper()
	return profile.Words{Lists: profile.AllLists, Own: []string{"acme"}, LookAlikes: true}
}

func TestReservedWordsAllocations(t *testing.T) { // not parallel: AllocsPerRun
	w := everyWord(t)
	w.Patterns = []string{"admin*", "*-support"}
	words := reservedWords(t, w)
	for _, name := range []string{"annaliseboyd", "anna-boyd", "s0mmer-fest24", "Anna.Boyd", "login", "anna.boyd@example.com"} {
		if got := testing.AllocsPerRun(100, func() { words.Reserved(name) }); got > 2 {
			t.Errorf("Reserved(%q) allocates %v times", name, got)
		}
	}
}

func BenchmarkReservedWords(b *testing.B) {
	plain := everyWord(b)
	plain.LookAlikes = false
	patterns := everyWord(b)
	patterns.Patterns = []string{"admin*", "*-support", "acme*", "??"}
	for kind, w := range map[string]profile.Words{"plain": plain, "alike": everyWord(b), "patterns": patterns} {
		words := reservedWords(b, w)
		for name, value := range map[string]string{"letters": "annaliseboyd", "digits": "summer-fest24", "email": "anna.boyd@example.com"} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					words.Reserved(value)
				}
			})
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, seed := range [][2]string{
		{"admin", "adm1n"}, {"xn--a-b", "a*"}, {"\xff@", "[a"}, {"-", "--"}, {"a/b", "a*"}, {"ﷺ", "ﷺ*"}, {"İ", "İ"}, {"ȺΑ", "Ⱥ?"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, name, pattern string) {
		for _, alike := range []bool{false, true} {
			w := profile.Words{Lists: []profile.List{profile.Roles}, Patterns: []string{pattern}, LookAlikes: alike}
			words, err := profile.ReservedWords(w)
			if err != nil {
				return
			}
			reserved := words.Reserved(name)
			if again := words.Reserved(name); again != reserved {
				t.Errorf("%q is reserved: %v, then %v", name, reserved, again)
			}
			w.Except = []string{name}
			if words, err = profile.ReservedWords(w); err != nil {
				t.Fatal(err)
			}
			if words.Reserved(name) && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == "" && name != "" {
				t.Errorf("%q is reserved, though it is excepted", name)
			}
		}
	})
}

func TestListsAreSorted(t *testing.T) {
	t.Parallel()
	slug := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, list := range profile.AllLists {
		if !slices.IsSorted(list.Words) {
			t.Errorf("%s is not sorted", list.Name)
		}
		if n := len(list.Words); n < 60 || n > 200 {
			t.Errorf("%s has %d words, want 60 to 200", list.Name, n)
		}
		seen := map[string]string{}
		for _, word := range list.Words {
			if !slug.MatchString(word) {
				t.Errorf("%s: %q is not in the form of a slug", list.Name, word)
			}
			bare := strings.ReplaceAll(word, "-", "")
			if other, twice := seen[bare]; twice {
				t.Errorf("%s: %q is the same as %q", list.Name, word, other)
			}
			seen[bare] = word
		}
	}
}

func TestListNames(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, list := range profile.AllLists {
		if list.Name == "" || names[list.Name] {
			t.Errorf("the name of a list is %q, empty or a duplicate", list.Name)
		}
		names[list.Name] = true
	}
	if len(names) != 6 {
		t.Errorf("%d lists, want 6", len(names))
	}
}

func TestListsContainExpectedWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list  profile.List
		words string
	}{
		{profile.Essential, "admin root api www mail support login official security postmaster null me settings well-known wpad"},
		{profile.Routes, "login logout register api assets robots-txt settings well-known"},
		{profile.Roles, "admin administrator root moderator owner staff system me"},
		{profile.Infrastructure, "www mail smtp ns1 localhost autodiscover autoconfig wpad mta-sts isatap"},
		// RFC 2142, and the addresses that prove the ownership of a domain.
		{profile.Support, "help abuse billing security postmaster hostmaster webmaster noc info support usenet no-reply"},
		{profile.Brands, "official verified staff paypal google microsoft"},
	} {
		for word := range strings.FieldsSeq(c.words) {
			if !slices.Contains(c.list.Words, word) {
				t.Errorf("%s lacks %q", c.list.Name, word)
			}
		}
	}
}
