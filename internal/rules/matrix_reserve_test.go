package rules_test

import "strings"

// matrixTables say what each command does in each state of a name. A cell is one of
//
//	ok:state+1        it succeeds, and x is in that state, its epoch higher by one
//	ok:state.status   the same, where the status does not follow from the state
//	replay:state      it succeeds as a replay, and nothing changes
//	CODE, CODE/reason it is refused, and nothing changes
//	anything else     the answer of a read, which changes nothing
var matrixTables = []string{
	reserveColumns("reserve", reserveTable, "TAKEN/held"),
	// x and z, which is free: never a replay, since z is new.
	reserveColumns("all", strings.ReplaceAll(reserveTable, "replay:", "ok:"), "TAKEN/held"),
	// x as the only candidate.
	reserveColumns("first", reserveTable, "EXPIRED"),
	holdTable, confirmTable, replaceTable,
	claimTable, renameTable, entityTable, exchangeTable,
	settleTable, readTable,
}

// reserveTable is what Reserve, ReserveAll and ReserveFirst have in common. The state spent-held is
// missing, in which they differ.
const reserveTable = `
state            right           right-for     bob                wrong              wrong-for      none
absent           ok:held+1       ok:held+1     ok:held+1          ok:held+1          ok:held+1      ok:held+1
released         RELEASED        RELEASED      ok:held+1          ok:held+1          ok:held+1      ok:held+1
expired          EXPIRED         EXPIRED       ok:held+1          ok:held+1          ok:held+1      ok:held+1
held             replay:held     TOKEN         TAKEN/held         TAKEN/held         TAKEN/held     TAKEN/held
held-for         TOKEN           replay:held   TAKEN/held         TAKEN/held         TAKEN/held     TAKEN/held
lapsed           EXPIRED         EXPIRED       ok:held+1          ok:held+1          ok:held+1      ok:held+1
suspect          replay:suspect  TOKEN         TAKEN/suspect      TAKEN/suspect      TAKEN/suspect  TAKEN/suspect
suspect-unswept  replay:suspect  TOKEN         TAKEN/suspect      TAKEN/suspect      TAKEN/suspect  TAKEN/suspect
active           CONFIRMED       CONFIRMED     TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
claimed          TAKEN/in_use    TAKEN/in_use  TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
archived         CONFIRMED       CONFIRMED     TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
deleting         CONFIRMED       CONFIRMED     TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
alias            CONFIRMED       CONFIRMED     TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
alias-over       CONFIRMED       CONFIRMED     ok:held+1          ok:held+1          ok:held+1      ok:held+1
alias-archived   CONFIRMED       CONFIRMED     TAKEN/in_use       TAKEN/in_use       TAKEN/in_use   TAKEN/in_use
given-up         CONFIRMED       CONFIRMED     ok:held+1          ok:held+1          ok:held+1      ok:held+1
quarantined      CONFIRMED       CONFIRMED     TAKEN/quarantined  TAKEN/quarantined  ok:held+1      TAKEN/quarantined
quarantine-over  CONFIRMED       CONFIRMED     ok:held+1          ok:held+1          ok:held+1      ok:held+1
held-out         TOKEN           replay:held   TAKEN/held         TAKEN/held         TAKEN/held     TAKEN/held
back-in          RELEASED        RELEASED      TAKEN/quarantined  TAKEN/quarantined  ok:held+1      TAKEN/quarantined
spent            EXPIRED         EXPIRED       ok:held+1          ok:held+1          ok:held+1      ok:held+1
`

// reserveColumns returns the table of a command: the columns get its name, and the state spent-held
// its outcome for the token of the earlier hold. For other tokens the name is taken.
func reserveColumns(command, table, earlier string) string {
	header, rows, _ := strings.Cut(strings.TrimSpace(table), "\n")
	columns := strings.Fields(header)
	for i := 1; i < len(columns); i++ {
		columns[i] = command + "-" + columns[i]
	}
	const taken = "TAKEN/held"
	spentHeld := []string{"spent-held", earlier, earlier, taken, taken, taken, taken}
	return strings.Join(columns, " ") + "\n" + rows + "\n" + strings.Join(spentHeld, " ")
}
