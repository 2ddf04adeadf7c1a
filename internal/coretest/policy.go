package coretest

import (
	"context"
	"strings"
	"time"

	"github.com/calldibs/dibs"
)

// Lower is a profile that folds case and refuses "!".
type Lower struct{}

// Name returns the name of the profile.
func (Lower) Name() string { return "lower/1" }

// Canonical returns the value in lower case.
func (Lower) Canonical(value string) (string, error) {
	if i := strings.IndexByte(value, '!'); i >= 0 {
		return "", &dibs.Refusal{Rule: "exclamation", Problem: "has an exclamation mark", At: i, Try: strings.ReplaceAll(value, "!", "")}
	}
	return strings.ToLower(value), nil
}

// Upper is a profile under which no name with a letter has the canonical form that it has under
// [Lower].
type Upper struct{}

// Name returns the name of the profile.
func (Upper) Name() string { return "upper/1" }

// Canonical returns the value in upper case.
func (Upper) Canonical(value string) (string, error) { return strings.ToUpper(value), nil }

// Digits is a skeleton under which the digits 0, 1 and 5 look like the letters o, l and s.
type Digits struct{}

// Name returns the name of the skeleton.
func (Digits) Name() string { return "digits/1" }

// Skeleton returns the canonical form with letters for digits.
func (Digits) Skeleton(canonical string) string {
	return strings.NewReplacer("0", "o", "1", "l", "5", "s").Replace(canonical)
}

// ExactSlugs are policies under which slugs are what they are written as.
func ExactSlugs() map[string]dibs.Policy {
	return map[string]dibs.Policy{"slug": {HoldHistory: time.Hour}}
}

// FoldedSlugs are policies under which the case of a slug does not matter.
func FoldedSlugs() map[string]dibs.Policy {
	return map[string]dibs.Policy{"slug": {Profile: Lower{}, HoldHistory: time.Hour}}
}

// NoLookAlikes are policies that refuse slugs that look like others, with the other fields of p.
func NoLookAlikes(p dibs.Policy) map[string]dibs.Policy {
	p.Skeleton = Digits{}
	p.HoldHistory = time.Hour
	return map[string]dibs.Policy{"slug": p}
}

// Forgetful are policies whose holds are soon purged, for tests of Forget.
func Forgetful() map[string]dibs.Policy {
	return map[string]dibs.Policy{
		"slug":  {Profile: Lower{}, HoldHistory: time.Hour, MaxHolds: 10},
		"email": {Profile: Lower{}, HoldHistory: time.Hour, Quarantine: 24 * time.Hour, ManyPerEntity: true, Skeleton: Digits{}},
	}
}

// AlwaysUnknown is a witness that never knows.
func AlwaysUnknown(context.Context, dibs.SuspectHold) (dibs.Verdict, error) { return dibs.Unknown, nil }
