package rules_test

// matrixTables say what each command does in each state of a name. A cell is one of
//
//	ok:state+1        it succeeds, and x is in that state, its epoch higher by one
//	ok:state.status   the same, where the status does not follow from the state
//	replay:state      it succeeds, the result stood already, and nothing changes
//	CODE, CODE/reason it is refused, and nothing changes
//	anything else     the answer to a question, which changes nothing
var matrixTables = []string{
	reserveTable, reserveAllTable, reserveFirstTable,
	holdTable, confirmTable, replaceTable,
	claimTable, renameTable, entityTable, exchangeTable,
	settleTable, readTable,
}

// Reserve of x alone.
const reserveTable = `
state            reserve-right   reserve-right-for  reserve-bob        reserve-wrong      reserve-wrong-for  reserve-none
absent           ok:held+1       ok:held+1          ok:held+1          ok:held+1          ok:held+1          ok:held+1
released         RELEASED        RELEASED           ok:held+1          ok:held+1          ok:held+1          ok:held+1
expired          EXPIRED         EXPIRED            ok:held+1          ok:held+1          ok:held+1          ok:held+1
held             replay:held     TOKEN              TAKEN/held         TAKEN/held         TAKEN/held         TAKEN/held
held-for         TOKEN           replay:held        TAKEN/held         TAKEN/held         TAKEN/held         TAKEN/held
lapsed           EXPIRED         EXPIRED            ok:held+1          ok:held+1          ok:held+1          ok:held+1
suspect          replay:suspect  TOKEN              TAKEN/suspect      TAKEN/suspect      TAKEN/suspect      TAKEN/suspect
suspect-unswept  replay:suspect  TOKEN              TAKEN/suspect      TAKEN/suspect      TAKEN/suspect      TAKEN/suspect
active           CONFIRMED       CONFIRMED          TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
claimed          TAKEN/in_use    TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
archived         CONFIRMED       CONFIRMED          TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
deleting         CONFIRMED       CONFIRMED          TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
alias            CONFIRMED       CONFIRMED          TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
alias-over       CONFIRMED       CONFIRMED          ok:held+1          ok:held+1          ok:held+1          ok:held+1
alias-archived   CONFIRMED       CONFIRMED          TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
given-up         CONFIRMED       CONFIRMED          ok:held+1          ok:held+1          ok:held+1          ok:held+1
quarantined      CONFIRMED       CONFIRMED          TAKEN/quarantined  TAKEN/quarantined  ok:held+1          TAKEN/quarantined
quarantine-over  CONFIRMED       CONFIRMED          ok:held+1          ok:held+1          ok:held+1          ok:held+1
held-out         TOKEN           replay:held        TAKEN/held         TAKEN/held         TAKEN/held         TAKEN/held
back-in          RELEASED        RELEASED           TAKEN/quarantined  TAKEN/quarantined  ok:held+1          TAKEN/quarantined
spent            EXPIRED         EXPIRED            ok:held+1          ok:held+1          ok:held+1          ok:held+1
spent-held       TAKEN/held      TAKEN/held         TAKEN/held         TAKEN/held         TAKEN/held         TAKEN/held
`

// ReserveAll of x and z, which is free: never a replay, since z is new.
const reserveAllTable = `
state            all-right     all-right-for  all-bob            all-wrong          all-wrong-for  all-none
absent           ok:held+1     ok:held+1      ok:held+1          ok:held+1          ok:held+1      ok:held+1
released         RELEASED      RELEASED       ok:held+1          ok:held+1          ok:held+1      ok:held+1
expired          EXPIRED       EXPIRED        ok:held+1          ok:held+1          ok:held+1      ok:held+1
held             ok:held       TOKEN          TAKEN/held         TAKEN/held         TAKEN/held     TAKEN/held
held-for         TOKEN         ok:held        TAKEN/held         TAKEN/held         TAKEN/held     TAKEN/held
lapsed           EXPIRED       EXPIRED        ok:held+1          ok:held+1          ok:held+1      ok:held+1
suspect          ok:suspect    TOKEN          TAKEN/suspect      TAKEN/suspect      TAKEN/suspect  TAKEN/suspect
suspect-unswept  ok:suspect    TOKEN          TAKEN/suspect      TAKEN/suspect      TAKEN/suspect  TAKEN/suspect
active           CONFIRMED     CONFIRMED      TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
claimed          TAKEN/in_use  TAKEN/in_use   TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
archived         CONFIRMED     CONFIRMED      TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
deleting         CONFIRMED     CONFIRMED      TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
alias            CONFIRMED     CONFIRMED      TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
alias-over       CONFIRMED     CONFIRMED      ok:held+1          ok:held+1          ok:held+1      ok:held+1
alias-archived   CONFIRMED     CONFIRMED      TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
given-up         CONFIRMED     CONFIRMED      ok:held+1          ok:held+1          ok:held+1      ok:held+1
quarantined      CONFIRMED     CONFIRMED      TAKEN/quarantined  TAKEN/quarantined  ok:held+1      TAKEN/quarantined
quarantine-over  CONFIRMED     CONFIRMED      ok:held+1          ok:held+1          ok:held+1      ok:held+1
held-out         TOKEN         ok:held        TAKEN/held         TAKEN/held         TAKEN/held     TAKEN/held
back-in          RELEASED      RELEASED       TAKEN/quarantined  TAKEN/quarantined  ok:held+1      TAKEN/quarantined
spent            EXPIRED       EXPIRED        ok:held+1          ok:held+1          ok:held+1      ok:held+1
spent-held       TAKEN/held    TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held     TAKEN/held
`

// ReserveFirst with x as the only candidate.
const reserveFirstTable = `
state            first-right     first-right-for  first-bob          first-wrong        first-wrong-for  first-none
absent           ok:held+1       ok:held+1        ok:held+1          ok:held+1          ok:held+1        ok:held+1
released         RELEASED        RELEASED         ok:held+1          ok:held+1          ok:held+1        ok:held+1
expired          EXPIRED         EXPIRED          ok:held+1          ok:held+1          ok:held+1        ok:held+1
held             replay:held     TOKEN            TAKEN/held         TAKEN/held         TAKEN/held       TAKEN/held
held-for         TOKEN           replay:held      TAKEN/held         TAKEN/held         TAKEN/held       TAKEN/held
lapsed           EXPIRED         EXPIRED          ok:held+1          ok:held+1          ok:held+1        ok:held+1
suspect          replay:suspect  TOKEN            TAKEN/suspect      TAKEN/suspect      TAKEN/suspect    TAKEN/suspect
suspect-unswept  replay:suspect  TOKEN            TAKEN/suspect      TAKEN/suspect      TAKEN/suspect    TAKEN/suspect
active           CONFIRMED       CONFIRMED        TAKEN/in_use       TAKEN/in_use       TAKEN/in_use     TAKEN/in_use
claimed          TAKEN/in_use    TAKEN/in_use     TAKEN/in_use       TAKEN/in_use       TAKEN/in_use     TAKEN/in_use
archived         CONFIRMED       CONFIRMED        TAKEN/in_use       TAKEN/in_use       TAKEN/in_use     TAKEN/in_use
deleting         CONFIRMED       CONFIRMED        TAKEN/in_use       TAKEN/in_use       TAKEN/in_use     TAKEN/in_use
alias            CONFIRMED       CONFIRMED        TAKEN/in_use       TAKEN/in_use       TAKEN/in_use     TAKEN/in_use
alias-over       CONFIRMED       CONFIRMED        ok:held+1          ok:held+1          ok:held+1        ok:held+1
alias-archived   CONFIRMED       CONFIRMED        TAKEN/in_use       TAKEN/in_use       TAKEN/in_use     TAKEN/in_use
given-up         CONFIRMED       CONFIRMED        ok:held+1          ok:held+1          ok:held+1        ok:held+1
quarantined      CONFIRMED       CONFIRMED        TAKEN/quarantined  TAKEN/quarantined  ok:held+1        TAKEN/quarantined
quarantine-over  CONFIRMED       CONFIRMED        ok:held+1          ok:held+1          ok:held+1        ok:held+1
held-out         TOKEN           replay:held      TAKEN/held         TAKEN/held         TAKEN/held       TAKEN/held
back-in          RELEASED        RELEASED         TAKEN/quarantined  TAKEN/quarantined  ok:held+1        TAKEN/quarantined
spent            EXPIRED         EXPIRED          ok:held+1          ok:held+1          ok:held+1        ok:held+1
spent-held       EXPIRED         EXPIRED          TAKEN/held         TAKEN/held         TAKEN/held       TAKEN/held
`
