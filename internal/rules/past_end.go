package rules

import "github.com/calldibs/dibs"

// PastEnd is an end that a decision rests on and that only time has brought: something about a
// record is over, and no commit has written that yet.
//
// Another process may have decided before the end to confirm, extend or release the hold, and its
// commit may still be under way, invisible to Load. So a decision that commits nothing and rests on
// such an end is answered only after the engine has waited for such commits and another Load has
// found the record unchanged.
type PastEnd struct {
	Ref dibs.Ref
	rev uint64
	At  dibs.Instant // when it ended; zero if there is no such end
}
