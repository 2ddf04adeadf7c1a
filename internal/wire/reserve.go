package wire

import "github.com/calldibs/dibs"

// Reserve is the body of a reservation. The token is in a header.
type Reserve struct {
	Namespace        string            `json:"namespace" doc:"The namespace in which the name is unique." example:"slug"`
	Value            string            `json:"value" doc:"The name, as the user wrote it." example:"Alice & Bob"`
	TTLMs            *int64            `json:"ttlMs,omitempty" doc:"How long the hold lasts. Default: the policy's." example:"300000"`
	Entity           *Entity           `json:"entity,omitempty" doc:"The owner-to-be, for the witness."`
	CorrelationID    string            `json:"correlationId,omitempty"`
	Meta             map[string]string `json:"meta,omitempty" doc:"Kept with the hold: up to 16 entries."`
	Field            string            `json:"field,omitempty" doc:"The name of this value in errors, such as a form's field."`
	OverrideReserved bool              `json:"overrideReserved,omitempty" doc:"Allow a reserved word; it takes the right overrideReserved."`
}

// Reserve returns the library's command.
func (r Reserve) Reserve() dibs.Reserve {
	return dibs.Reserve{
		Namespace: r.Namespace, Value: r.Value, TTL: TTL(r.TTLMs), Entity: r.Entity.Entity(),
		CorrelationID: r.CorrelationID, Meta: r.Meta, Field: r.Field, OverrideReserved: r.OverrideReserved,
	}
}

// ReserveOf converts a reservation of the library, without its token.
func ReserveOf(c dibs.Reserve) Reserve {
	return Reserve{
		Namespace: c.Namespace, Value: c.Value, TTLMs: ttlOf(c.TTL), Entity: EntityOf(c.Entity),
		CorrelationID: c.CorrelationID, Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
	}
}

// ReserveFirst is the body of a reservation with several candidates.
type ReserveFirst struct {
	Namespace        string            `json:"namespace" example:"slug"`
	Values           []string          `json:"values" nullable:"false" doc:"1 to 32 candidates, best first."`
	TTLMs            *int64            `json:"ttlMs,omitempty"`
	Entity           *Entity           `json:"entity,omitempty"`
	CorrelationID    string            `json:"correlationId,omitempty"`
	Meta             map[string]string `json:"meta,omitempty"`
	Field            string            `json:"field,omitempty"`
	OverrideReserved bool              `json:"overrideReserved,omitempty"`
}

// ReserveFirst returns the library's command.
func (r ReserveFirst) ReserveFirst() dibs.ReserveFirst {
	return dibs.ReserveFirst{
		Namespace: r.Namespace, Values: r.Values, TTL: TTL(r.TTLMs), Entity: r.Entity.Entity(), CorrelationID: r.CorrelationID,
		Meta: r.Meta, Field: r.Field, OverrideReserved: r.OverrideReserved,
	}
}
