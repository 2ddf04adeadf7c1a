package core_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/calldibs/dibs"
)

// Forget of x as nobody's name, as one of user/1 and of user/2; and of user/1 altogether.
const forgetTable = `
state            forget-nobody   forget-own      forget-other    forget-person
absent           replay          replay          replay          replay
released         ok:free         ok:free         ok:free         replay
expired          ok:free         ok:free         ok:free         replay
held             TAKEN           TAKEN           TAKEN           replay
held-for         TAKEN           ok:free         NOTOWNER        ok:free
lapsed           ok:free         ok:free         ok:free         replay
suspect          TAKEN           TAKEN           TAKEN           replay
suspect-unswept  TAKEN           TAKEN           TAKEN           replay
active           TAKEN           ok:free         NOTOWNER        ok:free
claimed          TAKEN           ok:free         NOTOWNER        ok:free
archived         TAKEN           ok:free         NOTOWNER        ok:free
deleting         TAKEN           ok:free         NOTOWNER        ok:free
alias            TAKEN           ok:free         NOTOWNER        ok:free
alias-over       ok:free         ok:free         NOTOWNER        ok:free
alias-archived   TAKEN           ok:free         NOTOWNER        ok:free
given-up         ok:free         ok:free         NOTOWNER        ok:free
quarantined      ok:quarantined  ok:quarantined  NOTOWNER        ok:quarantined
quarantine-over  ok:free         ok:free         NOTOWNER        ok:free
held-out         TAKEN           ok:quarantined  NOTOWNER        ok:quarantined
back-in          ok:quarantined  ok:quarantined  NOTOWNER        ok:quarantined
spent            ok:free         ok:free         ok:free         replay
spent-held       TAKEN           TAKEN           TAKEN           replay
`

func forgetRequests(namespace string) map[string]dibs.ForgetRequest {
	return map[string]dibs.ForgetRequest{
		"forget-nobody": {Namespace: namespace, Value: "x"},
		"forget-own":    {Namespace: namespace, Value: "x", Entity: user1},
		"forget-other":  {Namespace: namespace, Value: "x", Entity: user2},
		"forget-person": {Entity: user1},
	}
}

// TestForgetMatrix forgets in every state of a name. A dry run says the same before.
func TestForgetMatrix(t *testing.T) {
	t.Parallel()
	cells := parseTables(t, []string{forgetTable})
	for _, state := range matrixStates {
		for column, request := range forgetRequests(state.namespace) {
			t.Run(state.name+"/"+column, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, matrixPolicies()).as("ann", dibs.Operate)
				f.must(claim(state.namespace, "y", user2))
				state.make(f, state.namespace)
				before, _ := f.Get(f.ctx, dibs.Lookup{Namespace: state.namespace, Value: "x"})
				want := cells[column][state.name]
				plan := request
				plan.DryRun = true
				if got := f.forgetCell(plan); got != want {
					t.Errorf("the plan is %s, want %s", got, want)
				}
				if got := f.forgetCell(request); got != want {
					t.Errorf("it is %s, want %s", got, want)
				}
				if len(want) > 2 && want[:2] == "ok" {
					f.wantTombstone(state.namespace, before, dibs.State(want[3:]))
				}
			})
		}
	}
}

func (f *fixture) forgetCell(request dibs.ForgetRequest) string {
	report, err := f.Forget(f.ctx, request)
	if e, ok := errors.AsType[*dibs.Error](err); ok {
		return cellCodes[e.Code]
	}
	i := slices.IndexFunc(report.Erased, func(n dibs.Name) bool { return n.Canonical == "x" && n.Namespace != "" })
	switch {
	case err != nil:
		return err.Error()
	case report.Replayed:
		return "replay"
	case i < 0:
		return "not erased"
	default:
		return "ok:" + string(report.Erased[i].State)
	}
}

// wantTombstone demands that x is forgotten, and kept back no less than before.
func (f *fixture) wantTombstone(namespace string, before dibs.Name, want dibs.State) {
	f.t.Helper()
	n := f.name(namespace, "x")
	if n.State != want || n.Value != "" || n.Canonical != "" || n.Epoch != before.Epoch || !n.Entity.IsZero() || n.Principal != "" {
		f.t.Errorf("the tombstone is %+v", n)
	}
	if before.State == dibs.Quarantined && !n.Until.Equal(before.Until) {
		f.t.Errorf("it is kept back until %s, it was until %s", n.Until, before.Until)
	}
	if kinds := f.kinds(namespace, "x"); !slices.Equal(kinds, []dibs.EventKind{dibs.EventForgotten}) {
		f.t.Errorf("its history is %v", kinds)
	}
	f.refused(dibs.ErrNotFound, dibs.Release{ID: n.ID, Token: token1})
	f.refused(dibs.ErrNotFound, dibs.Settle{ID: n.ID, Verdict: dibs.Absent})
	for _, entity := range []dibs.Entity{{}, user1, user3} {
		r := reserveFor(namespace, token2, entity)
		if want == dibs.Quarantined {
			f.refused(dibs.ErrNameTaken, r)
			continue
		}
		hold := f.one(r)
		if hold.Epoch <= n.Epoch || hold.Canonical != "x" {
			f.t.Errorf("it was taken as %+v", hold)
		}
		n.Epoch = hold.Epoch
		f.must(dibs.Release{ID: hold.ID, Token: token2})
		f.forget(dibs.ForgetRequest{Namespace: namespace, Value: "x"})
	}
}
