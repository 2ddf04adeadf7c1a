package profile

import "github.com/calldibs/dibs"

// Policies returns the policies by which a server works unless it is told otherwise:
// the types "slug", "username", "email" and "hostname", each with the profile of that
// name, and in all else the defaults of [dibs.Policy]. The map is the caller's own.
func Policies() map[string]dibs.Policy {
	return map[string]dibs.Policy{
		"slug":     {Profile: Slug{}},
		"username": {Profile: Username{}},
		"email":    {Profile: Email{}},
		"hostname": {Profile: Hostname{}},
	}
}
