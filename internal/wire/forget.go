package wire

import "github.com/calldibs/dibs"

// ForgetRequest says what to erase: a person, or one name.
type ForgetRequest struct {
	Scope     string  `json:"scope,omitempty" doc:"The entity's scope. Default: the empty scope." example:"acme"`
	Entity    *Entity `json:"entity,omitempty" doc:"The person. With a name: its required owner; absent for a name without an owner."`
	Namespace string  `json:"namespace,omitempty" doc:"The namespace of the one name to forget. Default: everything of the entity."`
	Value     string  `json:"value,omitempty" doc:"The one name to forget."`
	DryRun    bool    `json:"dryRun,omitempty" doc:"Only say what would be erased."`
	Scrub     bool    `json:"scrub,omitempty" doc:"Also remove all traces from the engine's files. Only SQLite supports it."`
}

// ForgetRequestOf converts a request.
func ForgetRequestOf(r dibs.ForgetRequest) ForgetRequest {
	return ForgetRequest{Scope: r.Scope, Entity: EntityOf(r.Entity), Namespace: r.Namespace, Value: r.Value, DryRun: r.DryRun, Scrub: r.Scrub}
}

// ForgetRequest returns the library's request.
func (r ForgetRequest) ForgetRequest() dibs.ForgetRequest {
	return dibs.ForgetRequest{Scope: r.Scope, Entity: r.Entity.Entity(), Namespace: r.Namespace, Value: r.Value, DryRun: r.DryRun, Scrub: r.Scrub}
}

// Forgetting is what was erased, or would be in a dry run.
type Forgetting struct {
	Erased   []Name `json:"erased" nullable:"false" doc:"Names that were erased, as they were; state and until say whether they are in quarantine now."`
	Redacted []Name `json:"redacted" nullable:"false" doc:"Names of others from whose history the person was removed."`
	Replayed bool   `json:"replayed" doc:"Whether there was nothing to erase."`
}

// ForgettingOf converts a report.
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
