package profile_test

import (
	"errors"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/profile"
)

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
