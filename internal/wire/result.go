package wire

import "github.com/calldibs/dibs"

// Result is what a command did, or would do in a dry run.
type Result struct {
	Names       []Name   `json:"names" nullable:"false" doc:"The names that the command was about, as they are after it."`
	Token       string   `json:"token,omitempty" doc:"Of a reserve: the proof of the hold."`
	Replayed    bool     `json:"replayed"`
	Version     uint64   `json:"version,omitempty" doc:"The entity's version."`
	Freed       []string `json:"freed,omitempty" doc:"Keys that were given up and are free."`
	Quarantined []string `json:"quarantined,omitempty" doc:"Keys that were given up and are kept back for a while."`
	Pending     bool     `json:"pending,omitempty" doc:"The entity has names left, which follow in batches."`
}

// ResultOf shows a result.
func ResultOf(r dibs.Result) Result {
	w := Result{
		Names: make([]Name, len(r.Names)), Token: r.Token, Replayed: r.Replayed, Version: r.Version,
		Freed: r.Freed, Quarantined: r.Quarantined, Pending: r.Pending,
	}
	for i, n := range r.Names {
		w.Names[i] = NameOf(n)
		w.Names[i].Replayed = r.Replayed
	}
	return w
}

// Result returns the library's result.
func (r Result) Result() (dibs.Result, error) {
	result := dibs.Result{
		Token: r.Token, Replayed: r.Replayed, Version: r.Version,
		Freed: r.Freed, Quarantined: r.Quarantined, Pending: r.Pending,
	}
	for _, n := range r.Names {
		name, err := n.Name()
		if err != nil {
			return dibs.Result{}, err
		}
		result.Names = append(result.Names, name)
	}
	return result, nil
}
