package wire

import "github.com/calldibs/dibs"

// Result is what a command did, or would do in a dry run.
type Result struct {
	Names       []Name   `json:"names" nullable:"false" doc:"The names that the command is about, as they are after it."`
	Token       string   `json:"token,omitempty" doc:"For a reserve: the proof of the hold."`
	Replayed    bool     `json:"replayed"`
	Version     uint64   `json:"version,omitempty" doc:"The entity's version."`
	Freed       []string `json:"freed,omitempty" doc:"Keys that are free now."`
	Quarantined []string `json:"quarantined,omitempty" doc:"Keys that are in quarantine now."`
	Pending     bool     `json:"pending,omitempty" doc:"The entity has more names, which follow in batches."`
}

// ResultOf converts a result.
func ResultOf(r dibs.Result) Result {
	names := NamesOf(r.Names)
	for i := range names {
		names[i].Replayed = r.Replayed
	}
	return Result{
		Names: names, Token: r.Token, Replayed: r.Replayed, Version: r.Version,
		Freed: r.Freed, Quarantined: r.Quarantined, Pending: r.Pending,
	}
}

// Result returns the library's result.
func (r Result) Result() (dibs.Result, error) {
	names, err := namesFrom(r.Names)
	return dibs.Result{
		Names: names, Token: r.Token, Replayed: r.Replayed, Version: r.Version,
		Freed: r.Freed, Quarantined: r.Quarantined, Pending: r.Pending,
	}, err
}
