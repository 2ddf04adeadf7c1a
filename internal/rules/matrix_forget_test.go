package rules_test

import (
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
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
		"forget-own":    {Namespace: namespace, Value: "x", Entity: coretest.User1},
		"forget-other":  {Namespace: namespace, Value: "x", Entity: coretest.User2},
		"forget-person": {Entity: coretest.User1},
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
				f := coretest.NewFixture(t, matrixPolicies()).ActAs("ann", dibs.Operate)
				f.Must(coretest.Claim(state.namespace, "y", coretest.User2))
				state.make(f, state.namespace)
				before, _ := f.Get(f.Ctx, dibs.Lookup{Namespace: state.namespace, Value: "x"})
				want := cells[column][state.name]
				plan := request
				plan.DryRun = true
				if got := f.ForgetCell(plan); got != want {
					t.Errorf("the plan is %s, want %s", got, want)
				}
				if got := f.ForgetCell(request); got != want {
					t.Errorf("it is %s, want %s", got, want)
				}
				if len(want) > 2 && want[:2] == "ok" {
					f.WantTombstone(state.namespace, before, dibs.State(want[3:]))
				}
			})
		}
	}
}
