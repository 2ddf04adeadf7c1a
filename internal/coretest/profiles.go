package coretest

import (
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// Digits is a skeleton for tests: a digit looks like a letter.
type Digits struct{}

func (Digits) Name() string { return "digits/1" }

func (Digits) Skeleton(canonical string) string {
	return strings.NewReplacer("0", "o", "1", "l", "5", "s").Replace(canonical)
}

// Lower is a profile for tests: case does not matter, and "!" is not valid.
type Lower struct{}

func (Lower) Name() string { return "lower/1" }

func (Lower) Canonical(value string) (string, error) {
	if i := strings.IndexByte(value, '!'); i >= 0 {
		return "", &dibs.Refusal{Rule: "exclamation", Problem: "has an exclamation mark", At: i, Try: strings.ReplaceAll(value, "!", "")}
	}
	return strings.ToLower(value), nil
}

// Looks is a policy under which look-alikes are refused.
func Looks(p dibs.Policy) map[string]dibs.Policy {
	p.Skeleton = Digits{}
	p.HoldHistory = time.Hour
	return map[string]dibs.Policy{"slug": p}
}
