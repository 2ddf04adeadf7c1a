package nametest

// word writes a number in letters, none of which looks like another.
func word(n int) string {
	const letters = "abcdefghijkmnpqrtuvwxyz"
	text := ""
	for {
		text = string(letters[n%len(letters)]) + text
		if n /= len(letters); n == 0 {
			return text
		}
	}
}

// spellings is the number of look-alike spellings of a name.
const spellings = 16

// spell returns the i-th spelling of the n-th name.
func spell(n, i int) string {
	text := []byte("lolo")
	for bit := range text {
		if i>>bit&1 == 1 {
			text[bit] = map[byte]byte{'l': '1', 'o': '0'}[text[bit]]
		}
	}
	return string(text) + "-" + word(n)
}
