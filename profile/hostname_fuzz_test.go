package profile_test

import (
	"testing"

	"github.com/calldibs/dibs/profile"
)

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
