package wire

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/calldibs/dibs"
)

// Command is one command of a list: its op, and the members that the single call has
// in body and path. Members that the op does not have are refused.
type Command struct {
	Op string `json:"op" enum:"reserve,reserveAll,reserveFirst,extend,confirm,release,claim,rename,archive,restore,delete,decommission,transfer,swap,settle,rekey" doc:"Which command it is."`

	Namespace        string            `json:"namespace,omitempty"`
	Value            string            `json:"value,omitempty"`
	Values           []string          `json:"values,omitempty" doc:"Of reserveFirst: the candidates, the best first."`
	Reservations     []Reserve         `json:"reservations,omitempty" doc:"Of reserveAll: what to reserve, with one token for all."`
	TTLMs            *int64            `json:"ttlMs,omitempty" doc:"How long the hold lasts; the policy's default where it is left out."`
	Token            string            `json:"token,omitempty" doc:"The proof of the hold; of a reserve, one of the caller's choosing."`
	Entity           *Entity           `json:"entity,omitempty"`
	CorrelationID    string            `json:"correlationId,omitempty"`
	Meta             map[string]string `json:"meta,omitempty"`
	Field            string            `json:"field,omitempty"`
	OverrideReserved bool              `json:"overrideReserved,omitempty"`

	Type string `json:"type,omitempty" doc:"With id, another way to write entity: of rename, archive, restore and delete, as in their paths."`
	ID   string `json:"id,omitempty"`

	ReservationID string  `json:"reservationId,omitempty"`
	Replace       bool    `json:"replace,omitempty"`
	Replaces      string  `json:"replaces,omitempty" doc:"Of confirm and rename: the value that is replaced, where an entity may have many."`
	IfVersion     uint64  `json:"ifVersion,omitempty"`
	Scope         string  `json:"scope,omitempty"`
	From          *Entity `json:"from,omitempty"`
	To            *Entity `json:"to,omitempty"`
	A             *Named  `json:"a,omitempty"`
	B             *Named  `json:"b,omitempty"`
	Outcome       string  `json:"outcome,omitempty" doc:"Of settle: exists or absent."`
	Limit         int     `json:"limit,omitempty"`
}

// Named is an entity and its active name.
type Named struct {
	Value  string `json:"value"`
	Entity Entity `json:"entity"`
}

// CommandOf writes a command of the library.
func CommandOf(command dibs.Command) (Command, error) {
	switch c := command.(type) {
	case dibs.Reserve:
		return Command{
			Op: "reserve", Namespace: c.Namespace, Value: c.Value, TTLMs: ttlOf(c.TTL), Token: c.Token, Entity: EntityOf(c.Entity),
			CorrelationID: c.CorrelationID, Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	case dibs.ReserveAll:
		w := Command{Op: "reserveAll", Token: c.Token}
		for _, r := range c.Reservations {
			if r.Token != "" {
				return Command{}, &dibs.Error{Code: dibs.CodeInvalidToken, Message: "one token holds all of them: set ReserveAll.Token and leave the others empty"}
			}
			w.Reservations = append(w.Reservations, ReserveOf(r))
		}
		return w, nil
	case dibs.ReserveFirst:
		return Command{
			Op: "reserveFirst", Namespace: c.Namespace, Values: c.Values, TTLMs: ttlOf(c.TTL), Token: c.Token, Entity: EntityOf(c.Entity),
			CorrelationID: c.CorrelationID, Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	case dibs.Extend:
		return Command{Op: "extend", ReservationID: c.ID.String(), Token: c.Token, TTLMs: ttlOf(c.TTL)}, nil
	case dibs.Confirm:
		return Command{
			Op: "confirm", ReservationID: c.ID.String(), Token: c.Token, Entity: EntityOf(c.Entity), Replace: c.Replace, Replaces: c.Replaces,
		}, nil
	case dibs.Release:
		return Command{Op: "release", ReservationID: c.ID.String(), Token: c.Token}, nil
	case dibs.Claim:
		return Command{
			Op: "claim", Namespace: c.Namespace, Value: c.Value, Entity: EntityOf(c.Entity), CorrelationID: c.CorrelationID,
			Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	case dibs.Rename:
		return Command{
			Op: "rename", Namespace: c.Namespace, Value: c.Value, Entity: EntityOf(c.Entity), Replaces: c.From, Token: c.Token, IfVersion: c.IfVersion,
			CorrelationID: c.CorrelationID, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	case dibs.Archive:
		return Command{Op: "archive", Scope: c.Scope, Entity: EntityOf(c.Entity)}, nil
	case dibs.Restore:
		return Command{Op: "restore", Scope: c.Scope, Entity: EntityOf(c.Entity)}, nil
	case dibs.Delete:
		return Command{Op: "delete", Scope: c.Scope, Entity: EntityOf(c.Entity)}, nil
	case dibs.Decommission:
		return Command{Op: "decommission", Namespace: c.Namespace, Value: c.Value, Entity: EntityOf(c.Entity)}, nil
	case dibs.Transfer:
		return Command{Op: "transfer", Namespace: c.Namespace, Value: c.Value, From: EntityOf(c.From), To: EntityOf(c.To)}, nil
	case dibs.Swap:
		return Command{Op: "swap", Namespace: c.Namespace, A: namedOf(c.A), B: namedOf(c.B)}, nil
	case dibs.Settle:
		outcome, entity := c.Verdict.Outcome()
		return Command{Op: "settle", ReservationID: c.ID.String(), Outcome: outcome, Entity: EntityOf(entity)}, nil
	case dibs.Rekey:
		return Command{Op: "rekey", Namespace: c.Namespace, Value: c.Value}, nil
	default:
		return Command{}, fmt.Errorf("dibs: a %T cannot be sent to a server", command)
	}
}

func namedOf(n dibs.Named) *Named { return &Named{n.Value, Entity{n.Entity.Type, n.Entity.ID}} }

// Named returns the library's.
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

// TTL returns the library's time to live; the default for none.
func TTL(ms *int64) dibs.TTL {
	if ms == nil {
		return dibs.TTL{}
	}
	return dibs.For(Duration(*ms))
}

// Command returns the library's command. A member that the op does not have is an
// error which names it.
func (c Command) Command() (dibs.Command, error) {
	c, err := c.withEntity()
	if err != nil {
		return nil, err
	}
	command, err := c.read()
	if err != nil {
		return nil, err
	}
	// What the command means, written again, has every member that it understood.
	known, err := CommandOf(command)
	if err != nil {
		return nil, err
	}
	if extra := notIn(c, known); extra != "" {
		return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("%s has no member %q", c.Op, extra)}
	}
	return command, nil
}

// withEntity makes an entity of a type and an id, which is how paths have it.
func (c Command) withEntity() (Command, error) {
	switch c.Op {
	case "rename", "archive", "restore", "delete":
	default:
		return c, nil
	}
	if c.Type == "" && c.ID == "" {
		return c, nil
	}
	entity := Entity{c.Type, c.ID}
	if c.Entity != nil && *c.Entity != entity {
		return c, &dibs.Error{Code: dibs.CodeInvalidEntity, Message: "entity is another one than type and id: write one of the two"}
	}
	c.Entity, c.Type, c.ID = &entity, "", ""
	return c, nil
}

func (c Command) read() (dibs.Command, error) {
	switch c.Op {
	case "reserve":
		return dibs.Reserve{
			Namespace: c.Namespace, Value: c.Value, TTL: TTL(c.TTLMs), Token: c.Token, Entity: c.Entity.Entity(),
			CorrelationID: c.CorrelationID, Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	case "reserveAll":
		all := dibs.ReserveAll{Token: c.Token}
		for _, r := range c.Reservations {
			all.Reservations = append(all.Reservations, r.Reserve())
		}
		return all, nil
	case "reserveFirst":
		return dibs.ReserveFirst{
			Namespace: c.Namespace, Values: c.Values, TTL: TTL(c.TTLMs), Token: c.Token, Entity: c.Entity.Entity(),
			CorrelationID: c.CorrelationID, Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	case "claim":
		return dibs.Claim{
			Namespace: c.Namespace, Value: c.Value, Entity: c.Entity.Entity(), CorrelationID: c.CorrelationID,
			Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	case "rename":
		return dibs.Rename{
			Namespace: c.Namespace, Value: c.Value, Entity: c.Entity.Entity(), From: c.Replaces, Token: c.Token, IfVersion: c.IfVersion,
			CorrelationID: c.CorrelationID, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	case "archive":
		return dibs.Archive{Scope: c.Scope, Entity: c.Entity.Entity()}, nil
	case "restore":
		return dibs.Restore{Scope: c.Scope, Entity: c.Entity.Entity()}, nil
	case "delete":
		return dibs.Delete{Scope: c.Scope, Entity: c.Entity.Entity()}, nil
	case "decommission":
		return dibs.Decommission{Namespace: c.Namespace, Value: c.Value, Entity: c.Entity.Entity()}, nil
	case "transfer":
		return dibs.Transfer{Namespace: c.Namespace, Value: c.Value, From: c.From.Entity(), To: c.To.Entity()}, nil
	case "swap":
		return dibs.Swap{Namespace: c.Namespace, A: c.A.Named(), B: c.B.Named()}, nil
	case "rekey":
		return dibs.Rekey{Namespace: c.Namespace, Value: c.Value}, nil
	case "extend", "confirm", "release", "settle":
		return c.onReservation()
	default:
		return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("there is no op %q", c.Op)}
	}
}

// onReservation reads a command that is about a reservation id.
func (c Command) onReservation() (dibs.Command, error) {
	id, err := dibs.ParseID(c.ReservationID)
	if err != nil {
		return nil, err
	}
	switch c.Op {
	case "extend":
		return dibs.Extend{ID: id, Token: c.Token, TTL: TTL(c.TTLMs)}, nil
	case "confirm":
		return dibs.Confirm{ID: id, Token: c.Token, Entity: c.Entity.Entity(), Replace: c.Replace, Replaces: c.Replaces}, nil
	case "release":
		return dibs.Release{ID: id, Token: c.Token}, nil
	}
	switch c.Outcome {
	case "exists":
		return dibs.Settle{ID: id, Verdict: dibs.Exists(c.Entity.Entity())}, nil
	case "absent":
		return dibs.Settle{ID: id, Verdict: dibs.Absent}, nil
	case "", "unknown": // the registry says what is missing
		return dibs.Settle{ID: id}, nil
	default:
		return nil, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("there is no outcome %q: use exists or absent", c.Outcome)}
	}
}

// notIn returns the first member that is set in c and not in known. An empty list is
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
