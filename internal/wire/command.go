package wire

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/calldibs/dibs"
)

// Command is one command of a list: its op, and the members that the command's own call has
// in body and path. Members that the op does not have are refused.
type Command struct {
	Op string `json:"op" enum:"reserve,reserveAll,reserveFirst,extend,confirm,release,claim,import,rename,archive,restore,delete,decommission,transfer,swap,settle,rekey" doc:"The command."`

	Namespace        string            `json:"namespace,omitempty"`
	Value            string            `json:"value,omitempty"`
	Values           []string          `json:"values,omitempty" doc:"For reserveFirst: the candidates, best first."`
	Reservations     []Reserve         `json:"reservations,omitempty" doc:"For reserveAll: what to reserve, with one token for all."`
	TTLMs            *int64            `json:"ttlMs,omitempty" doc:"How long the hold lasts. Default: the policy's."`
	Token            string            `json:"token,omitempty" doc:"The proof of the hold. For a reserve: a token that the caller chooses."`
	Entity           *Entity           `json:"entity,omitempty"`
	CorrelationID    string            `json:"correlationId,omitempty"`
	Meta             map[string]string `json:"meta,omitempty"`
	Field            string            `json:"field,omitempty"`
	OverrideReserved bool              `json:"overrideReserved,omitempty"`

	Type string `json:"type,omitempty" doc:"With id, another way to write entity, for rename, archive, restore and delete, as in their paths."`
	ID   string `json:"id,omitempty"`

	ReservationID string  `json:"reservationId,omitempty"`
	Replace       bool    `json:"replace,omitempty"`
	Replaces      string  `json:"replaces,omitempty" doc:"For confirm and rename: the value to replace, if an entity may have many."`
	AliasOf       string  `json:"aliasOf,omitempty" doc:"For import: the active name to which this one redirects."`
	Since         string  `json:"since,omitempty" doc:"For import: when the entity got the name, in RFC 3339."`
	IfVersion     uint64  `json:"ifVersion,omitempty"`
	Scope         string  `json:"scope,omitempty"`
	From          *Entity `json:"from,omitempty"`
	To            *Entity `json:"to,omitempty"`
	A             *Named  `json:"a,omitempty"`
	B             *Named  `json:"b,omitempty"`
	Outcome       string  `json:"outcome,omitempty" doc:"For settle: exists or absent."`
}

// Named is an entity and its active name.
type Named struct {
	Value  string `json:"value"`
	Entity Entity `json:"entity"`
}

// CommandOf returns the wire form of a command of the library.
func CommandOf(command dibs.Command) (Command, error) {
	if command != nil {
		if op, ok := ops[command.Op()]; ok {
			c, err := op.write(command)
			c.Op = command.Op()
			return c, err
		}
	}
	return Command{}, notSendable(command)
}

func namedOf(n dibs.Named) *Named { return &Named{n.Value, Entity(n.Entity)} }

// Named returns the library's type.
func (n *Named) Named() dibs.Named {
	if n == nil {
		return dibs.Named{}
	}
	return dibs.Named{Value: n.Value, Entity: n.Entity.Entity()}
}

func ttlOf(t dibs.TTL) *int64 {
	d, set := t.Duration()
	if !set {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

// TTL returns the library's time to live. Nil means the policy's default.
func TTL(ms *int64) dibs.TTL {
	if ms == nil {
		return dibs.TTL{}
	}
	return dibs.For(Duration(*ms))
}

// Command returns the library's command. A member that the op does not have is an
// error that names the member.
func (c Command) Command() (dibs.Command, error) {
	op, ok := ops[c.Op]
	if !ok {
		return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("unknown op %q", c.Op)}
	}
	if op.typeAndID {
		var err error
		if c, err = c.withEntity(); err != nil {
			return nil, err
		}
	}
	command, err := op.read(c)
	if err != nil {
		return nil, err
	}
	// Writing the command again yields every member that was understood.
	known, err := CommandOf(command)
	if err != nil {
		return nil, err
	}
	if extra := notIn(c, known); extra != "" {
		return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("%s has no member %q", c.Op, extra)}
	}
	return command, nil
}

// withEntity turns the members type and id into the entity.
func (c Command) withEntity() (Command, error) {
	if c.Type == "" && c.ID == "" {
		return c, nil
	}
	entity := Entity{c.Type, c.ID}
	if c.Entity != nil && *c.Entity != entity {
		return c, &dibs.Error{Code: dibs.CodeInvalidEntity, Message: "entity differs from type and id: send only one of the two"}
	}
	c.Entity, c.Type, c.ID = &entity, "", ""
	return c, nil
}

// notIn returns the first member that is set in c and not in known. An empty list counts as
// not set.
func notIn(c, known Command) string {
	have, want := reflect.ValueOf(c), reflect.ValueOf(known)
	for i := range have.NumField() {
		member := have.Field(i)
		if member.IsZero() || member.Kind() == reflect.Slice && member.Len() == 0 {
			continue
		}
		if want.Field(i).IsZero() {
			name, _, _ := strings.Cut(have.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return ""
}

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
