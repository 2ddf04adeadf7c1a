package storetest

import (
	"slices"
	"strings"
)

// oddValues are different values that collations, normal forms, escapes, type
// guesses and trimming may treat as equal. A registry that does so gives one name
// to two owners.
var oddValues = []string{
	"name", "Name", "NAME", "nAme",
	" name", "name ", "name  ", "na me", "na  me",
	"name0", "name-0", "name.0", "name:0", "name/0", "name//0", "name_0",

	"caf\u00e9", "cafe\u0301", "cafe", "CAF\u00c9",
	"\u00e5", "a\u030a", "\u212b", // å, decomposed, and the sign for Ångström
	"\ufb01", "fi", "\u00df", "ss", "\u1e9e",
	"i", "I", "\u0130", "\u0131", "i\u0307",
	"\u03c3", "\u03c2", "\u03a3",
	"\u0430", "a", "\uff41", // Cyrillic, Latin and fullwidth a
	"ab", "a\u200bb", "a\u00adb", "a\u200db", "\ufeffab", "a\u00a0b", "a\u2003b",
	"\u202eab", "ab\ufe0f",
	"\U0001f600", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd",

	// In UTF-16 order the last two of these come before the first.
	"\uff5e", "\U00010000", "\U0010fffd",

	"7", "07", "007", "7.0", "+7", "-7", "7e0", "0x7", "1e309", "NaN", "true", "false", "null", "NULL", "nil",
	"'", "''", "\"", "`", "\\", "\\\\", "\\x41", "%", "%%", "_", "?", "*", "$1", ":1", "@a", "a%b", "a_b", "axb",
	"a;b", "a--b", "{}", "[]", "<b>", "&amp;", "&",
	"..", "../a", "/", "~", "!", "z", "Z",

	strings.Repeat("x", 1024), strings.Repeat("x", 1023) + "y", strings.Repeat("x", 1023),
	strings.Repeat("\u00e9", 512), strings.Repeat("\U0001f600", 256),
}

// inByteOrder returns values in the order that the contract demands of listings.
func inByteOrder(values []string) []string {
	return slices.Sorted(slices.Values(values))
}
