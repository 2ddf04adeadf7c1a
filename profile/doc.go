// Package profile defines which names are the same: the canonical form of a value, the
// reserved words, and which names look alike.
//
//	words, err := profile.ReservedWords(profile.Words{Lists: profile.AllLists, LookAlikes: true})
//	...
//	dibs.Policy{
//		Profile:       profile.Username{},
//		ReservedWords: words,
//		Skeleton:      profile.Confusables,
//	}
//
// Every type is a plain struct whose zero value is ready to use, and is safe for concurrent
// use. For every value, a profile keeps this contract:
//
//   - It accepts its own results, and does not change them.
//   - It refuses a value with a [*dibs.Refusal]: the rule, the position, and a value to try
//     instead, which it accepts.
//   - Its name contains its version and every option that decides which names are the same.
//     The registry stores it with each name.
package profile
