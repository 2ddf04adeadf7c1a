package profile

import "github.com/calldibs/dibs"

// Policies returns the default policies: the types "slug", "username", "email" and
// "hostname", each with the profile of that name and otherwise the defaults of
// [dibs.Policy]. The caller may change the map.
func Policies() map[string]dibs.Policy {
	return map[string]dibs.Policy{
		"slug":     {Profile: Slug{}},
		"username": {Profile: Username{}},
		"email":    {Profile: Email{}},
		"hostname": {Profile: Hostname{}},
	}
}
