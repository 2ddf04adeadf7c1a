package rules

import (
	"time"

	"github.com/calldibs/dibs"
)

// How long to wait before a witness that does not know is asked again: twice as long each time.
const (
	firstPause = 5 * time.Second
	maxPause   = time.Hour
)

// Testimony is what a witness said about a hold.
type Testimony struct {
	ID      dibs.ID
	Epoch   uint64
	Expires time.Time // the end of the hold as it was when the witness was asked
	Verdict dibs.Verdict
	Doubt   string // why there is no verdict
	Unasked bool   // this process has no witness
}

// Testify acts on what a witness said: the suspect is ended, or stays a suspect with a doubt, and
// its witness is not asked for a while. The outcome says whether it was ended.
func (set *Policies) Testify(t Testimony) *Job[bool] {
	p := set.preparer(nameRef("", t.ID))
	return newJob(p, func(v *view) (settled bool, _ *dibs.Error) {
		n := v.follow(t.ID, "")
		if n == nil || n.State != dibs.Suspect || n.Epoch != t.Epoch || !n.ExpiresAt.Time().Equal(t.Expires) {
			// The suspect has ended; or its holder has extended it, and may have saved its entity
			// since, which the witness could not know.
			return false, nil
		}
		doubt := t.Doubt
		if outcome, entity := t.Verdict.Outcome(); outcome == verdictExists && checkEntity(entity) != nil {
			doubt = "the witness says that it exists but names no valid entity"
		} else if outcome != verdictUnknown {
			err := p.tryVerdict(v, n, t.Verdict)
			if err == nil {
				return true, nil
			}
			doubt = "the witness says that it exists, but the verdict cannot be applied: " + err.Message
		}
		pause := firstPause
		if !t.Unasked { // otherwise another process may have a witness
			pause = min(firstPause<<min(n.Asked, 16), maxPause) // without an overflow
			n.Asked++
		}
		n.AskAt, n.Doubt = v.now.Add(pause), doubt
		v.saveQuietly(n)
		return false, nil
	})
}

// tryVerdict ends a suspect by a verdict, or changes nothing and says why it cannot.
func (p *preparer) tryVerdict(v *view, n *nameState, verdict dibs.Verdict) *dibs.Error {
	nested := v.nested()
	suspect, t, err := p.existingName(nested, dibs.Settle{ID: n.ID, Verdict: verdict}, n.ID)
	if err == nil {
		err = p.conclude(nested, suspect, t, verdict)
	}
	nested.close(err == nil)
	return err
}
