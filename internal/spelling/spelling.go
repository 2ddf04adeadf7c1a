// Package spelling finds the word that a misspelt one was meant to be.
package spelling

import (
	"strings"
)

// Hint returns "; did you mean --listen?" for the known word that is nearest to a misspelt one,
// and nothing if none is near.
func Hint(word string, known []string) string {
	if nearest := Nearest(word, known); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return ""
}

// Nearest returns the known word with the fewest changes from a misspelt one, the first of several;
// empty if each takes more than a third of its letters to change, or more than three. Case does not
// count, nor do hyphens and underscores.
func Nearest(word string, known []string) (nearest string) {
	misspelt := plain(word)
	least := min(3, (len(misspelt)+2)/3) + 1
	for _, candidate := range known {
		if d := distance(misspelt, plain(candidate)); d < least {
			nearest, least = candidate, d
		}
	}
	return nearest
}

func plain(word string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(word))
}

// distance counts the letters to insert, remove, replace, or swap with the next one.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
