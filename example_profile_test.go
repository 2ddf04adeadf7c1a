package dibs_test

import (
	"errors"
	"fmt"

	"github.com/calldibs/dibs"
)

// couponCode is a profile for codes that people read out: case, spaces and hyphens do not
// count.
type couponCode struct{}

// Name has a version. Raise it with every change to the results of Canonical.
func (couponCode) Name() string { return "coupon/1" }

// Canonical keeps letters and digits, in upper case.
func (couponCode) Canonical(value string) (string, error) {
	var code []byte
	bad := -1
	for i, r := range value {
		switch {
		case r == ' ' || r == '-':
		case 'a' <= r && r <= 'z':
			code = append(code, byte(r-'a'+'A'))
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			code = append(code, byte(r))
		case bad < 0:
			bad = i
		}
	}
	if bad >= 0 {
		return "", &dibs.Refusal{Rule: "character", Problem: "has a character that is not a letter or digit", At: bad, Try: string(code)}
	}
	if len(code) == 0 {
		return "", &dibs.Refusal{Rule: "empty", Problem: "has no letter or digit", At: -1}
	}
	return string(code), nil
}

// Join returns no suggestions: a code is not made from another code.
func (couponCode) Join(_, _ string) string { return "" }

func ExampleProfile() {
	reg := open(dibs.Config{Policies: map[string]dibs.Policy{"coupon": {Profile: couponCode{}}}})
	defer reg.Close()

	name, err := reg.Claim(ctx, dibs.Claim{Namespace: "coupon", Value: "spring-2026", Entity: kit})
	check(err)
	fmt.Println(name.Canonical)
	_, err = reg.Claim(ctx, dibs.Claim{Namespace: "coupon", Value: "SPRING 2026", Entity: poster})
	fmt.Println(err)
	_, err = reg.Claim(ctx, dibs.Claim{Namespace: "coupon", Value: "fall_2026", Entity: poster})
	if refused, ok := errors.AsType[*dibs.Error](err); ok {
		fmt.Println(refused.Refusal.Rule, refused.Refusal.At, refused.Refusal.Try)
	}
	// Output:
	// SPRING2026
	// dibs: NAME_TAKEN: coupon:SPRING2026 is in use
	// character 4 FALL2026
}
