package profile

// ignorable are the invisible characters, Unicode's Default_Ignorable_Code_Point: the
// standard leaves them out of the comparison. Go's tables have only parts of the property,
// and change with the version of Go.
var ignorable = rangeTable(
	[2]rune{0x00AD, 0x00AD},   // soft hyphen
	[2]rune{0x034F, 0x034F},   // combining grapheme joiner
	[2]rune{0x061C, 0x061C},   // Arabic letter mark
	[2]rune{0x115F, 0x1160},   // Hangul fillers
	[2]rune{0x17B4, 0x17B5},   // Khmer inherent vowels
	[2]rune{0x180B, 0x180F},   // Mongolian selectors and separator
	[2]rune{0x200B, 0x200F},   // zero width space and joiners, direction marks
	[2]rune{0x202A, 0x202E},   // direction embeddings and overrides
	[2]rune{0x2060, 0x206F},   // word joiner, invisible operators, isolates
	[2]rune{0x3164, 0x3164},   // Hangul filler
	[2]rune{0xFE00, 0xFE0F},   // variation selectors
	[2]rune{0xFEFF, 0xFEFF},   // byte order mark
	[2]rune{0xFFA0, 0xFFA0},   // halfwidth Hangul filler
	[2]rune{0xFFF0, 0xFFF8},   // not assigned
	[2]rune{0x1BCA0, 0x1BCA3}, // shorthand format controls
	[2]rune{0x1D173, 0x1D17A}, // musical format controls
	[2]rune{0xE0000, 0xE0FFF}, // tags, further variation selectors
)
