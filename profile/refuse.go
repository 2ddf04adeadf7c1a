package profile

import (
	"fmt"

	"github.com/calldibs/dibs"
)

// whole is the place of a problem that is not at one byte of the value.
const whole = -1

// refuse makes the refusal of a value: the rule it breaks, the byte at which it does,
// what to try instead if anything, and what to tell a person.
func refuse(rule string, at int, try, format string, args ...any) *dibs.Refusal {
	return &dibs.Refusal{Rule: rule, Problem: fmt.Sprintf(format, args...), At: at, Try: try}
}
