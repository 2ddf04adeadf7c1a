package profile

import (
	"unicode"

	"github.com/gosimple/unidecode"
)

// spell returns what a letter, mark or number is in ASCII, or nothing. A letter whose
// case came late to Unicode is not in the table, but that of the other case is.
func spell(r rune) string {
	for _, r := range [...]rune{r, unicode.ToLower(r), unicode.ToUpper(r)} {
		if r <= unicode.MaxASCII {
			return string(r)
		}
		if text, ok := spellings[r]; ok {
			return text
		}
		if text := unidecode.Unidecode(string(r)); text != "" && text != notInTable {
			return text
		}
	}
	return ""
}

// notInTable is how the table writes what it does not know.
const notInTable = "[?]"

// spellings are letters in everyday use that the table leaves out or writes as a sign.
// Without them different names would be the same.
var spellings = map[rune]string{
	// Azerbaijani; Kazakh and Tatar.
	'Ə': "e", 'ə': "e", 'Ә': "a", 'ә': "a",
	// Arabic, Urdu and Pashto.
	'ا': "a", 'أ': "a", 'إ': "i", 'ٱ': "a", 'ة': "h", 'ۃ': "h", 'ى': "a", 'ې': "e",
	// Hebrew.
	'א': "a",
	// Bengali, Tamil, Oriya, and the bare consonants of Malayalam.
	'ৎ': "t", 'ஶ': "sh", 'ଵ': "v", 'ୱ': "w",
	'ൺ': "nn", 'ൻ': "n", 'ർ': "r", 'ൽ': "l", 'ൾ': "ll", 'ൿ': "k",
	// Thai, Lao and Burmese.
	'อ': "o", 'ອ': "o", 'ຮ': "h", 'ဿ': "ss",
	// Amharic.
	'ኢ': "i",
	// Small capitals, with which people style their names.
	'ᴀ': "a", 'ᴄ': "c", 'ᴅ': "d", 'ᴇ': "e", 'ꜰ': "f", 'ᴊ': "j", 'ᴋ': "k", 'ʟ': "l", 'ᴍ': "m",
	'ᴏ': "o", 'ᴘ': "p", 'ꜱ': "s", 'ᴛ': "t", 'ᴜ': "u", 'ᴠ': "v", 'ᴡ': "w", 'ᴢ': "z",
}
