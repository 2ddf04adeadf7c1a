package profile

import (
	"sync"

	"github.com/calldibs/dibs"
)

// Defaults are the policies of the most common types of names: "slug", "username", "email" and
// "hostname", each with the profile of that name. The zero Defaults is safe for names that
// strangers choose; each field switches one check off.
type Defaults struct {
	// AllowReserved gives out the words of [Essential] as usernames, slugs and host names. False
	// means that they need the right [dibs.OverrideReserved].
	AllowReserved bool
	// AllowMixedScripts gives out usernames that mix scripts, see [OneScript]. False means that
	// they are invalid.
	AllowMixedScripts bool
	// AllowLookAlikes gives out usernames that look like that of another entity, see
	// [Confusables], or like a reserved word. False means that only the entity itself can have
	// them, and that look-alikes of reserved words are reserved.
	AllowLookAlikes bool
}

// Policies returns the policies. They have the defaults of [dibs.Policy] otherwise. The caller may
// change the map.
func (d Defaults) Policies() map[string]dibs.Policy {
	username := dibs.Policy{Profile: Username{}, ReservedWords: d.Words("username")}
	if !d.AllowMixedScripts {
		username.Profile = OneScript(username.Profile)
	}
	if !d.AllowLookAlikes {
		username.Skeleton = Confusables
	}
	return map[string]dibs.Policy{
		"slug":     {Profile: Slug{}, ReservedWords: d.Words("slug")},
		"username": username,
		"email":    {Profile: Email{}},
		"hostname": {Profile: Hostname{}, ReservedWords: d.Words("hostname")},
	}
}

// Policies returns the policies of the zero [Defaults]: reserved words are refused as usernames,
// slugs and host names, and so are usernames that mix scripts or look like another one. The
// caller may change the map.
func Policies() map[string]dibs.Policy { return Defaults{}.Policies() }

// Words returns the reserved words of a type. Nil means none.
func (d Defaults) Words(kind string) dibs.Words {
	switch {
	case d.AllowReserved:
	case kind == "username" && !d.AllowLookAlikes:
		return essentialAlike()
	case kind == "username", kind == "slug", kind == "hostname":
		return essentialWords()
	}
	return nil
}

var (
	essentialWords = sync.OnceValue(func() dibs.Words { return prepareEssential(false) })
	essentialAlike = sync.OnceValue(func() dibs.Words { return prepareEssential(true) })
)

func prepareEssential(lookAlikes bool) dibs.Words {
	words, err := ReservedWords(Words{
		Lists: []List{Essential}, LookAlikes: lookAlikes,
		Except: []string{"m3"}, // a car, and not "me"
	})
	if err != nil {
		panic(err) // a wrong word in the list, which every test notices
	}
	return words
}
