package profile_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/calldibs/dibs/profile"
)

func TestListsAreSorted(t *testing.T) {
	t.Parallel()
	slug := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, list := range profile.AllLists {
		if !slices.IsSorted(list.Words) {
			t.Errorf("%s is not sorted", list.Name)
		}
		if n := len(list.Words); n < 60 || n > 200 {
			t.Errorf("%s has %d words, want 60 to 200", list.Name, n)
		}
		seen := map[string]string{}
		for _, word := range list.Words {
			if !slug.MatchString(word) {
				t.Errorf("%s: %q is not in the form of a slug", list.Name, word)
			}
			bare := strings.ReplaceAll(word, "-", "")
			if other, twice := seen[bare]; twice {
				t.Errorf("%s: %q is the same as %q", list.Name, word, other)
			}
			seen[bare] = word
		}
	}
}

func TestListNames(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, list := range profile.AllLists {
		if list.Name == "" || names[list.Name] {
			t.Errorf("the name of a list is %q, empty or a duplicate", list.Name)
		}
		names[list.Name] = true
	}
	if len(names) != 5 {
		t.Errorf("%d lists, want 5", len(names))
	}
}

func TestListsContainExpectedWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list  profile.List
		words string
	}{
		{profile.Routes, "login logout register api assets robots-txt settings well-known"},
		{profile.Roles, "admin administrator root moderator owner staff system me"},
		{profile.Infrastructure, "www mail smtp ns1 localhost autodiscover autoconfig wpad mta-sts isatap"},
		// RFC 2142, and the addresses that prove the ownership of a domain.
		{profile.Support, "help abuse billing security postmaster hostmaster webmaster noc info support usenet no-reply"},
		{profile.Brands, "official verified staff paypal google microsoft"},
	} {
		for word := range strings.FieldsSeq(c.words) {
			if !slices.Contains(c.list.Words, word) {
				t.Errorf("%s lacks %q", c.list.Name, word)
			}
		}
	}
}
