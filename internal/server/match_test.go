package server

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// captured are values of earlier responses, by the name that a scenario gave them.
type captured map[string]string

// fill replaces {{name}} by captured values.
func (c captured) fill(text string) string {
	for name, value := range c {
		text = strings.ReplaceAll(text, "{{"+name+"}}", value)
	}
	return text
}

// shapes are the patterns of placeholders.
var shapes = map[string]*regexp.Regexp{
	"any":    regexp.MustCompile(`(?s)^.*$`),
	"id":     regexp.MustCompile(`^res_[a-z2-7]{26}$`),
	"token":  regexp.MustCompile(`^[!-~]{16,128}$`),
	"time":   regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`),
	"number": regexp.MustCompile(`^-?\d+$`),
}

var placeholder = regexp.MustCompile(`^<(\w+)(?::(\w+))?>$`)

// matchText compares a text with the expected one, which may be a placeholder such as <time>, or
// <id:name>, which captures it.
func (c captured) matchText(want, got string) error {
	p := placeholder.FindStringSubmatch(want)
	if p == nil {
		if want != got {
			return fmt.Errorf("is %q, want %q", got, want)
		}
		return nil
	}
	shape, ok := shapes[p[1]]
	if !ok {
		return fmt.Errorf("no such placeholder: %s", want)
	}
	if !shape.MatchString(got) {
		return fmt.Errorf("is %q, want %s", got, want)
	}
	if p[2] != "" {
		c[p[2]] = got
	}
	return nil
}

// matchJSON compares a body with the expected one. An object may have further members; "<absent>"
// means that a member must not exist. A list must have the same number of elements, unless the
// expected one begins with "...": then each element must be somewhere in it.
func (c captured) matchJSON(want, got string) error {
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return fmt.Errorf("the scenario's own body: %w\n%s", err, want)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return fmt.Errorf("the answer is no JSON: %w", err)
	}
	return c.matchValue("body", w, g)
}

func (c captured) matchValue(at string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is %v, want an object", at, got)
		}
		return c.matchObject(at, w, g)
	case []any:
		g, ok := got.([]any)
		if !ok {
			return fmt.Errorf("%s is %v, want a list", at, got)
		}
		return c.matchList(at, w, g)
	case string:
		if w == "<any>" {
			return nil
		}
		if err := c.matchText(w, textOf(got)); err != nil {
			return fmt.Errorf("%s %w", at, err)
		}
		return nil
	default:
		if want != got {
			return fmt.Errorf("%s is %v, want %v", at, got, want)
		}
		return nil
	}
}

func (c captured) matchObject(at string, want, got map[string]any) error {
	for name, w := range want {
		g, there := got[name]
		switch {
		case w == "<absent>" && there:
			return fmt.Errorf("%s.%s is %v, and should not be there", at, name, g)
		case w == "<absent>":
		case !there:
			return fmt.Errorf("%s.%s is missing", at, name)
		default:
			if err := c.matchValue(at+"."+name, w, g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c captured) matchList(at string, want, got []any) error {
	if len(want) > 0 && want[0] == "..." {
		return c.matchSome(at, want[1:], got)
	}
	if len(want) != len(got) {
		return fmt.Errorf("%s has %d elements, want %d: %v", at, len(got), len(want), got)
	}
	for i := range want {
		if err := c.matchValue(fmt.Sprintf("%s[%d]", at, i), want[i], got[i]); err != nil {
			return err
		}
	}
	return nil
}

// matchSome finds each expected element anywhere in the list.
func (c captured) matchSome(at string, want, got []any) error {
	for _, w := range want {
		found := false
		for _, g := range got {
			found = found || c.matchValue(at, w, g) == nil
		}
		if !found {
			return fmt.Errorf("%s has no %v: %v", at, w, got)
		}
	}
	return nil
}

// textOf converts a JSON value to a text, for placeholders.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprint(v)
	}
}
