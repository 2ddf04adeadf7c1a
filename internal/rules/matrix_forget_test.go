package rules_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// Forget of x without an entity, as a name of user/1, and as a name of user/2; and of user/1 as a
// whole.
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
		"forget-own":    {Namespace: namespace, Value: "x", Entity: coretest.User1},
		"forget-other":  {Namespace: namespace, Value: "x", Entity: coretest.User2},
		"forget-person": {Entity: coretest.User1},
	}
}

// TestForgetMatrix forgets in every state of a name. A dry run returns the same before.
func TestForgetMatrix(t *testing.T) {
	t.Parallel()
	cells := parseTables(t, []string{forgetTable})
	for _, state := range matrixStates {
		for column, request := range forgetRequests(state.namespace) {
			t.Run(state.name+"/"+column, func(t *testing.T) {
				t.Parallel()
				f := coretest.NewFixture(t, matrixPolicies()).ActAs("ann", dibs.Operate)
				f.Must(coretest.Claim(state.namespace, "y", coretest.User2))
				state.make(f, state.namespace)
				before, _ := f.Get(f.Ctx, dibs.Lookup{Namespace: state.namespace, Value: "x"})
				want := cells[column][state.name]
				plan := request
				plan.DryRun = true
				if got := forgetCell(f, plan); got != want {
					t.Errorf("the plan is %s, want %s", got, want)
				}
				if got := forgetCell(f, request); got != want {
					t.Errorf("Forget is %s, want %s", got, want)
				}
				if len(want) > 2 && want[:2] == "ok" {
					wantTombstone(f, state.namespace, before, dibs.State(want[3:]))
				}
			})
		}
	}
}

// forgetCell runs a Forget and returns what a cell says.
func forgetCell(f *coretest.Fixture, request dibs.ForgetRequest) string {
	report, err := f.Forget(f.Ctx, request)
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

// wantTombstone checks that x is forgotten, and withheld for no less time than before.
func wantTombstone(f *coretest.Fixture, namespace string, before dibs.Name, want dibs.State) {
	f.T.Helper()
	n := f.NameOf(namespace, "x")
	if n.State != want || n.Value != "" || n.Canonical != "" || n.Epoch != before.Epoch || !n.Entity.IsZero() || n.Principal != "" {
		f.T.Errorf("the tombstone is %+v", n)
	}
	if before.State == dibs.Quarantined && !n.Until.Equal(before.Until) {
		f.T.Errorf("it is withheld until %s, before it was until %s", n.Until, before.Until)
	}
	if kinds := f.KindsOf(namespace, "x"); !slices.Equal(kinds, []dibs.EventKind{dibs.EventForgotten}) {
		f.T.Errorf("its history is %v", kinds)
	}
	f.Refused(dibs.ErrNotFound, dibs.Release{ID: n.ID, Token: coretest.Token1})
	f.Refused(dibs.ErrNotFound, dibs.Settle{ID: n.ID, Verdict: dibs.Absent})
	for _, entity := range []dibs.Entity{{}, coretest.User1, coretest.User3} {
		r := reserveFor(namespace, coretest.Token2, entity)
		if want == dibs.Quarantined {
			f.Refused(dibs.ErrNameTaken, r)
			continue
		}
		hold := f.One(r)
		if hold.Epoch <= n.Epoch || hold.Canonical != "x" {
			f.T.Errorf("reserved again, it is %+v", hold)
		}
		n.Epoch = hold.Epoch
		f.Must(dibs.Release{ID: hold.ID, Token: coretest.Token2})
		f.MustForget(dibs.ForgetRequest{Namespace: namespace, Value: "x"})
	}
}
