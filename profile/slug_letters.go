package profile

import (
	"unicode"

	"github.com/gosimple/unidecode"
)

// transliterate returns a letter, mark or number in ASCII, or an empty string. The table
// lacks some letters whose other case it has.
func transliterate(r rune) string {
	for _, r := range [...]rune{r, unicode.ToLower(r), unicode.ToUpper(r)} {
		if r <= unicode.MaxASCII {
			return string(r)
		}
		if text, ok := transliterations[r]; ok {
			return text
		}
		if text := unidecode.Unidecode(string(r)); text != "" && text != notInTable {
			return text
		}
	}
	return ""
}

// notInTable is the table's result for a character that it lacks.
const notInTable = "[?]"

// transliterations are letters in everyday use that the table lacks or maps to a sign.
// Without them different names would be the same.
var transliterations = map[rune]string{
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
	// Small capitals, which people use to style their names.
	'ᴀ': "a", 'ᴄ': "c", 'ᴅ': "d", 'ᴇ': "e", 'ꜰ': "f", 'ᴊ': "j", 'ᴋ': "k", 'ʟ': "l", 'ᴍ': "m",
	'ᴏ': "o", 'ᴘ': "p", 'ꜱ': "s", 'ᴛ': "t", 'ᴜ': "u", 'ᴠ': "v", 'ᴡ': "w", 'ᴢ': "z",
}
