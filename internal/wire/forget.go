package wire

import "github.com/calldibs/dibs"

// ForgetRequest says what to erase: a person, or one name.
type ForgetRequest struct {
	Scope     string  `json:"scope,omitempty" doc:"The entity's scope; none for namespaces without one." example:"acme"`
	Entity    *Entity `json:"entity,omitempty" doc:"The person. With a name: whose it must be; none for a name that nobody has."`
	Namespace string  `json:"namespace,omitempty" doc:"Of the one name to forget; left out to forget all that the entity has."`
	Value     string  `json:"value,omitempty" doc:"The one name to forget."`
	DryRun    bool    `json:"dryRun,omitempty" doc:"Only say what would be erased."`
	Scrub     bool    `json:"scrub,omitempty" doc:"Also see to it that nothing is left in the engine's files. SQLite can."`
}

// ForgetRequestOf shows a request.
func ForgetRequestOf(r dibs.ForgetRequest) ForgetRequest {
	return ForgetRequest{Scope: r.Scope, Entity: EntityOf(r.Entity), Namespace: r.Namespace, Value: r.Value, DryRun: r.DryRun, Scrub: r.Scrub}
}

// ForgetRequest returns the library's request.
func (r ForgetRequest) ForgetRequest() dibs.ForgetRequest {
	return dibs.ForgetRequest{Scope: r.Scope, Entity: r.Entity.Entity(), Namespace: r.Namespace, Value: r.Value, DryRun: r.DryRun, Scrub: r.Scrub}
}

// Forgetting is what was erased, or would be.
type Forgetting struct {
	Erased   []Name `json:"erased" nullable:"false" doc:"Names of which nothing is left, as they were; state and until say whether they are kept back now."`
	Redacted []Name `json:"redacted" nullable:"false" doc:"Names of others whose history has lost the person."`
	Replayed bool   `json:"replayed" doc:"Whether there was nothing to erase."`
}

// ForgettingOf shows a report.
func ForgettingOf(f dibs.Forgetting) Forgetting {
	return Forgetting{Erased: NamesOf(f.Erased), Redacted: NamesOf(f.Redacted), Replayed: f.Replayed}
}

// Forgetting returns the library's report.
func (f Forgetting) Forgetting() (v dibs.Forgetting, err error) {
	v.Replayed = f.Replayed
	if v.Erased, err = namesFrom(f.Erased); err == nil {
		v.Redacted, err = namesFrom(f.Redacted)
	}
	return v, err
}
