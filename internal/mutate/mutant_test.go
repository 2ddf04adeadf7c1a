package main

import (
	"slices"
	"testing"
)

func TestMutantsOf(t *testing.T) {
	t.Parallel()
	const source = `package p

func f(a, b int) int {
	if a < b && b != 3 {
		return 1
	}
	switch {
	case a >= 2, b == 1:
		return 2
	}
	switch a {
	case 1:
		return 3
	}
	return 0
}
`
	mutants, err := mutantsOf("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range mutants {
		if string(m.source) == source {
			t.Errorf("%s changes nothing", m)
		}
		got = append(got, m.String())
	}
	want := []string{
		"p.go:4: negate a < b && b != 3",
		"p.go:4: || for && in a < b && b != 3",
		"p.go:4: <= for < in a < b",
		"p.go:4: == for != in b != 3",
		"p.go:8: negate a >= 2",
		"p.go:8: negate b == 1",
		"p.go:8: > for >= in a >= 2",
		"p.go:12: empty case 1",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
