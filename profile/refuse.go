package profile

import (
	"fmt"

	"github.com/calldibs/dibs"
)

// whole is the position of a problem of the whole value.
const whole = -1

// refuse returns the refusal of a value: the rule that it breaks, the byte at which it does,
// and the message for people.
func refuse(rule string, at int, format string, args ...any) *dibs.Refusal {
	return &dibs.Refusal{Rule: rule, Problem: fmt.Sprintf(format, args...), At: at}
}
