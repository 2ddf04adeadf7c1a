package wire

import "github.com/calldibs/dibs"

// Import is a name that an entity already has in another system.
type Import struct {
	Namespace        string            `json:"namespace" example:"username"`
	Value            string            `json:"value" example:"Alice"`
	Entity           Entity            `json:"entity" doc:"The owner."`
	AliasOf          string            `json:"aliasOf,omitempty" doc:"The entity's active name to which this one redirects. Default: the name itself is active."`
	Since            string            `json:"since,omitempty" format:"date-time" doc:"When the entity got the name. Default: now."`
	CorrelationID    string            `json:"correlationId,omitempty"`
	Meta             map[string]string `json:"meta,omitempty"`
	OverrideReserved bool              `json:"overrideReserved,omitempty" doc:"Take the name even if it is a reserved word. It needs the right overrideReserved."`
}

// ImportOf returns the wire form.
func ImportOf(c dibs.Import) Import {
	return Import{
		Namespace: c.Namespace, Value: c.Value, Entity: Entity(c.Entity), AliasOf: c.AliasOf, Since: FormatTime(c.Since),
		CorrelationID: c.CorrelationID, Meta: c.Meta, OverrideReserved: c.OverrideReserved,
	}
}

// Import returns the library's command.
func (i Import) Import() (dibs.Import, error) {
	since, err := readSince(i.Since)
	return dibs.Import{
		Namespace: i.Namespace, Value: i.Value, Entity: i.Entity.Entity(), AliasOf: i.AliasOf, Since: since,
		CorrelationID: i.CorrelationID, Meta: i.Meta, OverrideReserved: i.OverrideReserved,
	}, err
}

// Imported is the outcome of one import.
type Imported struct {
	Outcome string   `json:"outcome" enum:"imported,unchanged,refused" doc:"Unchanged: the entity had the name already."`
	Name    *Name    `json:"name,omitempty" doc:"The name as it is now, unless it was refused."`
	Refused *Failure `json:"refused,omitempty" doc:"Why it was refused."`
}

// ImportedOf returns the wire form.
func ImportedOf(i dibs.Imported) Imported {
	if i.Err != nil {
		failure := failureOf(i.Err)
		return Imported{Outcome: "refused", Refused: &failure}
	}
	name := NameOf(i.Name)
	if i.Replayed {
		return Imported{Outcome: "unchanged", Name: &name}
	}
	return Imported{Outcome: "imported", Name: &name}
}

// Imported returns the library's outcome.
func (i Imported) Imported() (dibs.Imported, error) {
	if i.Refused != nil {
		return dibs.Imported{Err: i.Refused.dibsError()}, nil
	}
	name, err := i.Name.optional()
	if err != nil || name == nil {
		return dibs.Imported{}, err
	}
	return dibs.Imported{Name: *name, Replayed: i.Outcome == "unchanged"}, nil
}
