package wire

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

// Ops returns the names of all commands that a list can have, sorted.
func Ops() []string { return slices.Sorted(maps.Keys(ops)) }

// op converts one type of command. Reading is the inverse of writing.
type op struct {
	write func(dibs.Command) (Command, error)
	read  func(Command) (dibs.Command, error)
	// typeAndID allows the members type and id in place of entity.
	typeAndID bool
}

// define returns the op of the command type C.
func define[C dibs.Command](write func(C) (Command, error), read func(Command) (C, error)) op {
	return op{
		write: func(command dibs.Command) (Command, error) {
			c, ok := command.(C)
			if !ok {
				return Command{}, notSendable(command)
			}
			return write(c)
		},
		read: func(c Command) (dibs.Command, error) { return read(c) },
	}
}

func defineByID[C dibs.Command](write func(C) (dibs.ID, Command), read func(dibs.ID, Command) (C, error)) op {
	return define(func(command C) (Command, error) {
		id, c := write(command)
		c.ReservationID = id.String()
		return c, nil
	}, func(c Command) (command C, err error) {
		id, err := dibs.ParseID(c.ReservationID)
		if err != nil {
			return command, err
		}
		return read(id, c)
	})
}

// scoped is an entity in a scope, like the commands about an entity and all its names.
type scoped = struct {
	Scope  string
	Entity dibs.Entity
}

func defineByEntity[C interface {
	~scoped
	dibs.Command
}]() op {
	return define(func(command C) (Command, error) {
		of := scoped(command)
		return Command{Scope: of.Scope, Entity: EntityOf(of.Entity)}, nil
	}, func(c Command) (C, error) { return C(scoped{c.Scope, c.Entity.Entity()}), nil }).withTypeAndID()
}

func (o op) withTypeAndID() op {
	o.typeAndID = true
	return o
}

// ops has an entry for every command that a list can have, by [dibs.Command.Op]. The enum of
// [Command.Op] lists the same names.
var ops = map[string]op{
	"reserve": define(func(c dibs.Reserve) (Command, error) {
		return Command{
			Namespace: c.Namespace, Value: c.Value, TTLMs: ttlOf(c.TTL), Token: c.Token, Entity: EntityOf(c.Entity),
			CorrelationID: c.CorrelationID, Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	}, func(c Command) (dibs.Reserve, error) {
		return dibs.Reserve{
			Namespace: c.Namespace, Value: c.Value, TTL: TTL(c.TTLMs), Token: c.Token, Entity: c.Entity.Entity(),
			CorrelationID: c.CorrelationID, Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	}),
	"reserveAll": define(writeReserveAll, func(c Command) (all dibs.ReserveAll, err error) {
		all.Token = c.Token
		for _, r := range c.Reservations {
			all.Reservations = append(all.Reservations, r.Reserve())
		}
		return all, nil
	}),
	"reserveFirst": define(func(c dibs.ReserveFirst) (Command, error) {
		return Command{
			Namespace: c.Namespace, Values: c.Values, TTLMs: ttlOf(c.TTL), Token: c.Token, Entity: EntityOf(c.Entity),
			CorrelationID: c.CorrelationID, Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	}, func(c Command) (dibs.ReserveFirst, error) {
		return dibs.ReserveFirst{
			Namespace: c.Namespace, Values: c.Values, TTL: TTL(c.TTLMs), Token: c.Token, Entity: c.Entity.Entity(),
			CorrelationID: c.CorrelationID, Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	}),
	"extend": defineByID(func(c dibs.Extend) (dibs.ID, Command) {
		return c.ID, Command{Token: c.Token, TTLMs: ttlOf(c.TTL)}
	}, func(id dibs.ID, c Command) (dibs.Extend, error) {
		return dibs.Extend{ID: id, Token: c.Token, TTL: TTL(c.TTLMs)}, nil
	}),
	"confirm": defineByID(func(c dibs.Confirm) (dibs.ID, Command) {
		return c.ID, Command{Token: c.Token, Entity: EntityOf(c.Entity), Replace: c.Replace, Replaces: c.Replaces}
	}, func(id dibs.ID, c Command) (dibs.Confirm, error) {
		return dibs.Confirm{ID: id, Token: c.Token, Entity: c.Entity.Entity(), Replace: c.Replace, Replaces: c.Replaces}, nil
	}),
	"release": defineByID(func(c dibs.Release) (dibs.ID, Command) { return c.ID, Command{Token: c.Token} },
		func(id dibs.ID, c Command) (dibs.Release, error) { return dibs.Release{ID: id, Token: c.Token}, nil }),
	"claim": define(func(c dibs.Claim) (Command, error) {
		return Command{
			Namespace: c.Namespace, Value: c.Value, Entity: EntityOf(c.Entity), CorrelationID: c.CorrelationID,
			Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	}, func(c Command) (dibs.Claim, error) {
		return dibs.Claim{
			Namespace: c.Namespace, Value: c.Value, Entity: c.Entity.Entity(), CorrelationID: c.CorrelationID,
			Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	}),
	"import": define(func(c dibs.Import) (Command, error) {
		return Command{
			Namespace: c.Namespace, Value: c.Value, Entity: EntityOf(c.Entity), AliasOf: c.AliasOf, Since: FormatTime(c.Since),
			CorrelationID: c.CorrelationID, Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	}, func(c Command) (dibs.Import, error) {
		since, err := readSince(c.Since)
		return dibs.Import{
			Namespace: c.Namespace, Value: c.Value, Entity: c.Entity.Entity(), AliasOf: c.AliasOf, Since: since,
			CorrelationID: c.CorrelationID, Meta: c.Meta, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, err
	}),
	"rename": define(func(c dibs.Rename) (Command, error) {
		return Command{
			Namespace: c.Namespace, Value: c.Value, Entity: EntityOf(c.Entity), Replaces: c.From, Token: c.Token, IfVersion: c.IfVersion,
			CorrelationID: c.CorrelationID, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	}, func(c Command) (dibs.Rename, error) {
		return dibs.Rename{
			Namespace: c.Namespace, Value: c.Value, Entity: c.Entity.Entity(), From: c.Replaces, Token: c.Token, IfVersion: c.IfVersion,
			CorrelationID: c.CorrelationID, Field: c.Field, OverrideReserved: c.OverrideReserved,
		}, nil
	}).withTypeAndID(),
	"archive": defineByEntity[dibs.Archive](),
	"restore": defineByEntity[dibs.Restore](),
	"delete":  defineByEntity[dibs.Delete](),
	"decommission": define(func(c dibs.Decommission) (Command, error) {
		return Command{Namespace: c.Namespace, Value: c.Value, Entity: EntityOf(c.Entity)}, nil
	}, func(c Command) (dibs.Decommission, error) {
		return dibs.Decommission{Namespace: c.Namespace, Value: c.Value, Entity: c.Entity.Entity()}, nil
	}),
	"transfer": define(func(c dibs.Transfer) (Command, error) {
		return Command{Namespace: c.Namespace, Value: c.Value, From: EntityOf(c.From), To: EntityOf(c.To)}, nil
	}, func(c Command) (dibs.Transfer, error) {
		return dibs.Transfer{Namespace: c.Namespace, Value: c.Value, From: c.From.Entity(), To: c.To.Entity()}, nil
	}),
	"swap": define(func(c dibs.Swap) (Command, error) {
		return Command{Namespace: c.Namespace, A: namedOf(c.A), B: namedOf(c.B)}, nil
	}, func(c Command) (dibs.Swap, error) {
		return dibs.Swap{Namespace: c.Namespace, A: c.A.Named(), B: c.B.Named()}, nil
	}),
	"settle": defineByID(func(c dibs.Settle) (dibs.ID, Command) {
		outcome, entity := c.Verdict.Outcome()
		return c.ID, Command{Outcome: outcome, Entity: EntityOf(entity)}
	}, readSettle),
	"rekey": define(func(c dibs.Rekey) (Command, error) { return Command{Namespace: c.Namespace, Value: c.Value}, nil },
		func(c Command) (dibs.Rekey, error) { return dibs.Rekey{Namespace: c.Namespace, Value: c.Value}, nil }),
}

// writeReserveAll refuses a token of a single reservation: the wire has no member for it.
func writeReserveAll(c dibs.ReserveAll) (Command, error) {
	w := Command{Token: c.Token}
	for _, r := range c.Reservations {
		if r.Token != "" {
			return Command{}, &dibs.Error{Code: dibs.CodeInvalidToken, Message: "one token holds all of them: set ReserveAll.Token and leave the others empty"}
		}
		w.Reservations = append(w.Reservations, ReserveOf(r))
	}
	return w, nil
}

// readSince reads when an entity got a name; empty means that it is not said.
func readSince(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	since, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, &dibs.Error{Code: dibs.CodeInvalidValue, Field: "since", Message: fmt.Sprintf("since is %q: write a time like 2026-03-01T12:00:00Z", text)}
	}
	return since, nil
}

// readSettle leaves a missing outcome to the registry, which refuses it.
func readSettle(id dibs.ID, c Command) (dibs.Settle, error) {
	switch c.Outcome {
	case "exists":
		return dibs.Settle{ID: id, Verdict: dibs.Exists(c.Entity.Entity())}, nil
	case "absent":
		return dibs.Settle{ID: id, Verdict: dibs.Absent}, nil
	case "", "unknown":
		return dibs.Settle{ID: id}, nil
	default:
		return dibs.Settle{}, &dibs.Error{Code: dibs.CodeInvalidValue, Message: fmt.Sprintf("unknown outcome %q: use exists or absent", c.Outcome)}
	}
}

func notSendable(command dibs.Command) error {
	return fmt.Errorf("dibs: a %T cannot be sent to a server", command)
}
