package dibs

// Cause says in a few words why an engine cannot do what it is asked. Callers are told it
// in place of the driver's own text, which stays in the log.
type Cause string

// The causes. There may be more of them in later versions.
const (
	CauseNoAnswer    Cause = "no answer from the database"
	CauseDiskFull    Cause = "disk full"
	CauseDiskFails   Cause = "disk failure"
	CauseReadOnly    Cause = "database read-only"
	CauseStandby     Cause = "synchronous standby missing"
	CauseConnections Cause = "too many database connections"
	CauseLogin       Cause = "login refused by the database"
	CauseLocked      Cause = "database locked"
	CauseTooSlow     Cause = "database too slow"
	CauseClock       Cause = "clocks differ too much"
)

// Because returns the error with its cause, and with a message that begins with it. An
// empty cause changes nothing.
func (e *Error) Because(cause Cause) *Error {
	if cause == "" {
		return e
	}
	because := *e
	because.Cause, because.Message = cause, string(cause)+": "+e.Message
	return &because
}
