package profile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/profile"
)

func TestHostnameAccepts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ value, want string }{
		{"acme", "acme"},
		{"Acme-Inc", "acme-inc"},
		{"a", "a"},
		{"7", "7"},
		{"1984", "1984"},
		{"abc--def", "abc--def"},
		{"a-b-c", "a-b-c"},
		{strings.Repeat("X", 63), strings.Repeat("x", 63)},
		{"ａｃｍｅ", "acme"},
		{"ac\u00adme", "acme"},
		{"Bücher", "xn--bcher-kva"},
		{"xn--bcher-kva", "xn--bcher-kva"},
		{"XN--Bcher-KVA", "xn--bcher-kva"},
		{"ü--x", "xn----x-goa"}, // hyphens in the second and third place
	} {
		if got, err := (profile.Hostname{}).Canonical(test.value); err != nil || got != test.want {
			t.Errorf("%q becomes %q (%v), want %q", test.value, got, err, test.want)
		}
	}
}

func TestHostnameRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value string
		rule  string
		at    int
		try   string
	}{
		{"", "empty", -1, ""},
		{"\u00ad", "empty", -1, ""},
		{"acme.inc", "more_than_one_label", 4, "acme-inc"},
		{"acme.", "more_than_one_label", 4, "acme"},
		{".", "more_than_one_label", 0, ""},
		{"例。え", "more_than_one_label", 3, "例-え"},
		{"acme_inc", "character_not_allowed", 4, "acme-inc"},
		{"Acme Inc", "character_not_allowed", 4, "acme-inc"},
		{"Jürgen Müller", "character_not_allowed", 7, "jürgen-müller"},
		{"O'Brien & Söhne", "character_not_allowed", 1, "obrien-söhne"},
		{"!!!", "character_not_allowed", 0, ""},
		{"i♥ny", "character_not_allowed", 1, "i-ny"},
		{"كـتاب", "character_not_allowed", 2, "ك-تاب"},
		{"a\xffb", "character_not_allowed", 1, "a-b"},
		{"-acme", "hyphen_at_start", 0, "acme"},
		{"acme-", "hyphen_at_end", 4, "acme"},
		{"Bücher-", "hyphen_at_end", 7, "bücher"},
		{"-", "hyphen_at_start", 0, ""},
		{"ab--cd", "hyphens_in_third_and_fourth_place", 2, "ab-cd"},
		{"üb--cd", "hyphens_in_third_and_fourth_place", 3, "üb-cd"},
		{"xn--", "bad_encoding", 0, ""},
		{"xn--acme-", "bad_encoding", 0, "xn-acme"},
		{"xn--99999999", "bad_encoding", 0, "xn-99999999"},
		{"xn--bcher-2pa", "bad_encoding", 0, "bücher"}, // of "bÜcher"
		{"xn--n3h", "bad_encoding", 0, ""},             // of a snowman
		{"\u0301a", "mark_at_start", 0, "a"},
		{"a·b", "character_out_of_place", 1, ""},
		{"אבc", "mixed_direction", -1, ""},
		{"2אב", "mixed_direction", -1, ""},
		{strings.Repeat("x", 64), "too_long", -1, strings.Repeat("x", 63)},
		{strings.Repeat("x", 62) + "-y", "too_long", -1, strings.Repeat("x", 62)},
		{strings.Repeat("ü", 70), "too_long", -1, strings.Repeat("ü", 57)},
	} {
		wantRefusal(t, profile.Hostname{}, test.value, test.rule, test.at, test.try)
		checkAddressContract(t, profile.Hostname{}, test.value, "2", 63)
	}
}

func TestHostnameJoin(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 63)
	for _, test := range []struct{ canonical, word, want string }{
		{"acme", "2", "acme-2"},
		{"acme", "Berlin", "acme-berlin"},
		{"abc--def", "2", "abc--def-2"},
		{"acme", "!", ""},
		{"", "2", ""},
		{"acme", long, ""},
		{long, "2", long[:61] + "-2"},
		{long[:61] + "-2", "2", ""},
		{strings.Repeat("x", 60) + "-yz", "2", strings.Repeat("x", 60) + "-2"},
		{"xn--bcher-kva", "2", "xn--bcher-2-n2a"},
		{"acme", "münchen", "xn--acme-mnchen-yhb"},
	} {
		if got := (profile.Hostname{}).Join(test.canonical, test.word); got != test.want {
			t.Errorf("%q and %q become %q, want %q", test.canonical, test.word, got, test.want)
		}
	}
}

func TestHostnameAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector, pools lose what they have")
	}
	// not parallel: AllocsPerRun
	for value, most := range map[string]float64{"acme-inc": 0, "Acme-Inc": 1} {
		if got := testing.AllocsPerRun(100, func() { _, _ = profile.Hostname{}.Canonical(value) }); got > most {
			t.Errorf("%q takes %v allocations, more than %v", value, got, most)
		}
	}
}

func BenchmarkCanonicalHostname(b *testing.B) {
	for name, value := range map[string]string{
		"canonical": "acme-inc",
		"ascii":     "Acme-Inc",
		"latin":     "Bücher",
		"encoded":   "xn--bcher-kva",
		"refused":   "Jürgen Müller",
		"worst":     strings.Repeat("ü", 512),
		"worstwide": "_" + strings.Repeat("語", 300),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = profile.Hostname{}.Canonical(value)
			}
		})
	}
}

func FuzzHostname(f *testing.F) {
	for _, value := range []string{
		"acme", "Acme-Inc", "acme.inc", "-a-", "ab--cd", "xn--bcher-kva", "XN--", "Bücher", "faß", "FAẞ", "βόλος", "日本語",
		"ශ\u0DCA\u200Dරී", "نامه\u200Cای", "א1", "1א", "paral·lel", "☃", "\u00ad", "\u0301", "\xff", "ｘｎ－－ｂｃｈｅｒ－ｋｖａ",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日日本",
	} {
		f.Add(value, "Berlin")
		f.Add(value, "2")
	}
	f.Fuzz(func(t *testing.T, value, word string) {
		checkAddressContract(t, profile.Hostname{}, value, word, 63)
	})
}

// Known labels of the standards and of the root zone.
func TestHostnameEncodesIDNALabels(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ value, want string }{
		{"faß", "xn--fa-hia"},
		{"FAẞ", "xn--fa-hia"},
		{"βόλος", "xn--nxasmm1c"}, // a final sigma is kept
		{"ΒΌΛΟΣ", "xn--nxasmq6b"},
		{"日本語", "xn--wgv71a119e"},
		{"中国", "xn--fiqs8s"},
		{"한국", "xn--3e0b707e"},
		{"рф", "xn--p1ai"},
		{"испытание", "xn--80akhbyknj4f"},
		{"δοκιμή", "xn--jxalpdlp"},
		{"परीक्षा", "xn--11b5bs3a9aj6g"},
		{"பரிட்சை", "xn--hlcj6aya9esc7a"},
		{"テスト", "xn--zckzah"},
		{"测试", "xn--0zwm56d"},
		{"測試", "xn--g6w251d"},
		{"테스트", "xn--9t4b11yi5a"},
		{"إختبار", "xn--kgbechtv"},
		{"آزمایشی", "xn--hgbk6aj7f53bba"},
		{"טעסט", "xn--deba0ad"},
		{"ශ\u0DCA\u200Dරී", "xn--10cl1a0b660p"},             // joiner after a virama
		{"نامه\u200Cای", "xn--mgba3gch31f060k"},             // non-joiner between letters that join
		{"paral·lel", "xn--parallel-koa"},                   // a middle dot between two l
		{"א1", "xn--1-zhc"},                                 // a digit may end a right-to-left label
		{"Ｂ\u0075\u0308ｃｈｅｒ", "xn--bcher-kva"},              // width and composition
		{"ドメイン名例", "xn--eckwd4c7cu47r2wf"},                  // RFC 3492 family
		{"3年b組金八先生", "xn--3b-ww4c5e180e575a65lsy2b"},        // RFC 3492, 7.1 L
		{"ひとつ屋根の下2", "xn--2-u9tlzr9756bt3uc0v"},             // RFC 3492, 7.1 P
		{"MajiでKoiする5秒前", "xn--majikoi5-783gue6qz075azm5e"}, // RFC 3492, 7.1 Q in lower case
	} {
		if got, err := (profile.Hostname{}).Canonical(test.value); err != nil || got != test.want {
			t.Errorf("%q becomes %q (%v), want %q", test.value, got, err, test.want)
		}
	}
}

func TestHostnameChecksIDNAContexts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ value, rule string }{
		// RFC 5892, appendix A.
		{"a\u200Cb", "character_out_of_place"},
		{"a\u200Db", "character_out_of_place"},
		{"क\u200Dष", "character_out_of_place"},
		{"a·l", "character_out_of_place"},
		{"ŀa", "character_out_of_place"}, // mapped to an l and a dot
		{"a͵b", "character_out_of_place"},
		{"a׳", "character_out_of_place"},
		{"a・b", "character_out_of_place"},
		{"س٠۰", "character_out_of_place"},
		// RFC 5893.
		{"aא", "mixed_direction"},
		{"אaב", "mixed_direction"},
		{"1א", "mixed_direction"},
		{"א٠1", "mixed_direction"},
		{"٠a", "mixed_direction"},
		// RFC 5891, 4.2.3: hyphens and marks.
		{"ab--é", "hyphens_in_third_and_fourth_place"},
		{"-é", "hyphen_at_start"},
		{"ा", "mark_at_start"},
		// Excluded letters, and symbols.
		{"☃", "character_not_allowed"},
		{"\u2260", "character_not_allowed"},
		{"ᄀ", "character_not_allowed"},
		{"\uFFFD", "character_not_allowed"},
		{"\u202Eabc", "character_not_allowed"},
	} {
		_, err := profile.Hostname{}.Canonical(test.value)
		var got *dibs.Refusal
		if !errors.As(err, &got) || got.Rule != test.rule {
			t.Errorf("%+q: %+v, want %s", test.value, err, test.rule)
		}
	}
}
