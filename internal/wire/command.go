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
	Op string `json:"op" enum:"reserve,reserveAll,reserveFirst,extend,confirm,release,claim,rename,archive,restore,delete,decommission,transfer,swap,settle,rekey" doc:"The command."`

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
