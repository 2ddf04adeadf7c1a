// Package profile has what decides which names are the same: how a value becomes
// canonical, which words are reserved, which names look alike.
//
//	words, err := profile.ReservedWords(profile.Words{Lists: profile.AllLists, LookAlikes: true})
//	...
//	dibs.Policy{
//		Profile:       profile.Username{},
//		ReservedWords: words,
//		Skeleton:      profile.Confusables,
//	}
//
// Every type is a plain struct whose zero value is good, and safe for concurrent use.
// A profile keeps to this, whatever it is given:
//
//   - It accepts its own results, and leaves them as they are.
//   - What it refuses, it refuses with a [*dibs.Refusal]: which rule, where, and what
//     would be accepted. What that offers is accepted.
//   - Its name, with its version and every option that decides what is the same, is
//     stored with each name.
package profile
