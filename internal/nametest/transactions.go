package nametest

import (
	"errors"
	"testing"

	"github.com/calldibs/dibs"
)

// errUndone rolls a transaction back.
var errUndone = errors.New("undone")

// lookAlikesInTx races for look-alikes inside the callers' own transactions, and outside of
// them. One caller always rolls back: another one gets the name.
func lookAlikesInTx(t *testing.T, p *Harness) {
	regs := openLookAlikes(t, p)
	const callers = 8
	for round := range rounds(12, 4) {
		var refusals [callers]error
		atOnce(callers, func(i int) {
			reg, want := regs[(i+round)%len(regs)], wanting(i, round, spell(round, i))
			if i%4 == 3 { // outside of transactions
				_, refusals[i] = reg.Apply(t.Context(), want)
				return
			}
			refusals[i] = p.inTx(t.Context(), reg, func(bound *dibs.Registry) error {
				_, err := bound.Apply(t.Context(), want)
				if err == nil && i == 0 {
					err = errUndone
				}
				return err
			})
		})
		winners := 0
		for i, err := range refusals {
			switch {
			case err == nil:
				winners++
			case i == 0 && errors.Is(err, errUndone):
			default:
				checkLoser(t, err, false)
			}
		}
		if winners != 1 {
			t.Fatalf("round %d has %d winners: %v", round, winners, refusals)
		}
	}
	checkFeed(t, regs[0])
}
