package core_test

import (
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// digits is a skeleton for tests: a digit looks like a letter.
type digits struct{}

func (digits) Name() string { return "digits/1" }

func (digits) Skeleton(canonical string) string {
	return strings.NewReplacer("0", "o", "1", "l", "5", "s").Replace(canonical)
}

// lower is a profile for tests: case does not matter, and "!" is not valid.
type lower struct{}

func (lower) Name() string { return "lower/1" }

func (lower) Canonical(value string) (string, error) {
	if i := strings.IndexByte(value, '!'); i >= 0 {
		return "", &dibs.Refusal{Rule: "exclamation", Problem: "has an exclamation mark", At: i, Try: strings.ReplaceAll(value, "!", "")}
	}
	return strings.ToLower(value), nil
}

// looks is a policy under which look-alikes are refused.
func looks(p dibs.Policy) map[string]dibs.Policy {
	p.Skeleton = digits{}
	p.HoldHistory = time.Hour
	return map[string]dibs.Policy{"slug": p}
}
