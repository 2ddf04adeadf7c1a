package cli

import (
	"os"
	"regexp"

	"golang.org/x/term"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// widthOf returns the number of columns of a terminal; 0 for any other stream, which has no limit.
func widthOf(stream any) int {
	if !isTerminal(stream) {
		return 0
	}
	width, _, err := term.GetSize(int(stream.(*os.File).Fd()))
	if err != nil {
		return 0
	}
	return width
}

// interactive reports whether a person can answer a question.
func (s *session) interactive() bool { return isTerminal(s.Stdin) && isTerminal(s.Stderr) }

// paintOn returns the paint for a stream: colours on a terminal, unless the user does not want them
// (see no-color.org).
func (s *session) paintOn(stream any) paint {
	return paint(!s.noColor && s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb" && isTerminal(stream))
}

// colour is a colour of a terminal, as in its escape sequence.
type colour string

const (
	bold    colour = "1"
	faint   colour = "2"
	red     colour = "31"
	green   colour = "32"
	yellow  colour = "33"
	blue    colour = "34"
	magenta colour = "35"
	cyan    colour = "36"
)

// paint colours texts, or leaves them as they are if it is false.
type paint bool

func (p paint) in(c colour, text string) string {
	if !p || c == "" || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// colours are the colours of the words for what a name is and what happened to it: green for names
// that lead to an entity, yellow for holds, magenta for suspects, cyan for old names, red for what
// is over or refused.
var colours = map[string]colour{
	"active": green, "held": yellow, "suspect": magenta, "alias": cyan, "quarantined": red, "free": faint,

	"reserved": yellow, "confirmed": green, "released": faint, "expired": faint,

	"extended": yellow, "claimed": green, "suspected": magenta, "demoted": cyan, "revived": green, "respelled": blue,
	"given_up": red, "unlocked": faint, "transferred": blue, "moved": cyan, "forgotten": red, "archived": red, "restored": green,
	"deleted": red,

	"gone": red, "not_found": red, "yes": green, "no": red,
}

var words = regexp.MustCompile(`\w+`)

// word colours each word that has a colour: also in "held → active" and "active, archived".
func (p paint) word(text string) string {
	if !p {
		return text
	}
	return words.ReplaceAllStringFunc(text, func(word string) string { return p.in(colours[word], word) })
}

// isWord reports whether the cells of a column have colours.
func isWord(column string) bool {
	switch column {
	case "state", "status", "event", "outcome", "available":
		return true
	default:
		return false
	}
}
