package linear

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/calldibs/dibs"
)

// The namespace types of histories.
const (
	plainType = "plain"
	keptType  = "kept" // names that are given up go into quarantine
)

// Config opens the registries of a campaign.
func Config() dibs.Config {
	policy := dibs.Policy{MinTTL: time.Millisecond}
	kept := policy
	kept.Quarantine = 24 * time.Hour
	return dibs.Config{
		Policies:    map[string]dibs.Policy{plainType: policy, keptType: kept},
		SweepEvery:  100 * time.Millisecond,
		Suggestions: -1, // they would be additional reads
	}
}

// client is one caller of a history.
type client struct {
	reg       *dibs.Registry
	scope     string
	namespace string
}

func (c *client) name(i int) string        { return fmt.Sprint("name-", i) }
func (c *client) entity(i int) dibs.Entity { return dibs.Entity{Type: "user", ID: fmt.Sprint(i)} }
func (c *client) id(i int) dibs.ID         { return dibs.NameID(c.namespace, c.name(i)) }

// optional is an entity, or none for 0.
func (c *client) optional(i int) dibs.Entity {
	if i == 0 {
		return dibs.Entity{}
	}
	return c.entity(i)
}

func (c *client) token(i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprintf("the-token-%d-of-%s", i, c.namespace)
}

// errForeign is an error that no engine may return.
var errForeign = errors.New("linear: not an error of the registry")

// ask sends an Op to the registry and returns the answer. happened is false if the Op
// cannot have happened: it was UNAVAILABLE, or a read without an answer.
func (c *client) ask(ctx context.Context, o Op) (answer Answer, happened bool, err error) {
	switch o.Verb {
	case Resolve, Get, Check, Names:
		answer, err = c.read(ctx, o)
	default:
		answer, err = c.write(ctx, o)
	}
	answer.At = at(time.Now())
	if err == nil {
		return answer, true, nil
	}
	refusal, ok := errors.AsType[*dibs.Error](err)
	switch {
	case !ok && ctx.Err() != nil && o.Verb.reads():
		return Answer{}, false, nil
	case !ok:
		return Answer{}, false, fmt.Errorf("%w: %v: %w", errForeign, o, err)
	case refusal.Code == dibs.CodeUnavailable:
		return Answer{}, false, nil
	case refusal.Code == dibs.CodeOutcomeUnknown:
		return Answer{Lost: true}, !o.Verb.reads(), nil
	}
	return Answer{Code: refusal.Code, Reason: refusal.Reason, At: answer.At}, true, nil
}

// command returns the registry's command for an Op.
func (c *client) command(o Op) dibs.Command {
	switch o.Verb {
	case Reserve:
		return dibs.Reserve{
			Namespace: c.namespace, Value: c.name(o.Name), Token: c.token(o.Token), Entity: c.optional(o.Entity), TTL: dibs.For(o.TTL),
		}
	case ReserveBoth:
		all := dibs.ReserveAll{Token: c.token(o.Token)}
		for _, i := range []int{o.Name, o.Other} {
			all.Reservations = append(all.Reservations, dibs.Reserve{
				Namespace: c.namespace, Value: c.name(i), Entity: c.optional(o.Entity), TTL: dibs.For(o.TTL),
			})
		}
		return all
	case Extend:
		return dibs.Extend{ID: c.id(o.Name), Token: c.token(o.Token), TTL: dibs.For(o.TTL)}
	case Release:
		return dibs.Release{ID: c.id(o.Name), Token: c.token(o.Token)}
	case Confirm, Replace:
		return dibs.Confirm{ID: c.id(o.Name), Token: c.token(o.Token), Entity: c.entity(o.Entity), Replace: o.Verb == Replace}
	case Claim:
		return dibs.Claim{Namespace: c.namespace, Value: c.name(o.Name), Entity: c.entity(o.Entity)}
	case Rename:
		return dibs.Rename{Namespace: c.namespace, Value: c.name(o.Name), Entity: c.entity(o.Entity), Token: c.token(o.Token)}
	case Decommission:
		return dibs.Decommission{Namespace: c.namespace, Value: c.name(o.Name), Entity: c.entity(o.Entity)}
	case Transfer:
		return dibs.Transfer{Namespace: c.namespace, Value: c.name(o.Name), From: c.entity(o.Entity), To: c.entity(o.To)}
	case Swap:
		return dibs.Swap{
			Namespace: c.namespace,
			A:         dibs.Named{Value: c.name(o.Name), Entity: c.entity(o.Entity)}, B: dibs.Named{Value: c.name(o.Other), Entity: c.entity(o.To)},
		}
	case Archive:
		return dibs.Archive{Scope: c.scope, Entity: c.entity(o.Entity)}
	case Restore:
		return dibs.Restore{Scope: c.scope, Entity: c.entity(o.Entity)}
	case Delete:
		return dibs.Delete{Scope: c.scope, Entity: c.entity(o.Entity)}
	default:
		panic(fmt.Sprintf("linear: %q is not a command", o.Verb))
	}
}

func (c *client) write(ctx context.Context, o Op) (Answer, error) {
	results, err := c.reg.Apply(ctx, c.command(o))
	if err != nil {
		return Answer{}, err
	}
	return Answer{Replayed: results[0].Replayed, Names: c.seen(results[0].Names...), Version: results[0].Version}, nil
}

func (c *client) read(ctx context.Context, o Op) (Answer, error) {
	switch o.Verb {
	case Resolve:
		found, err := c.reg.Resolve(ctx, c.namespace, c.name(o.Name))
		answer := Answer{Outcome: found.Outcome, Entity: c.entityNumber(found.Entity)}
		if found.To != nil {
			answer.Names = c.seen(*found.To)
		}
		return answer, err
	case Get:
		found, err := c.reg.Get(ctx, dibs.Lookup{Namespace: c.namespace, Value: c.name(o.Name)})
		return Answer{Names: c.seen(found)}, err
	case Check:
		found, err := c.reg.Check(ctx, dibs.CheckRequest{Namespace: c.namespace, Values: []string{c.name(o.Name)}, Entity: c.optional(o.Entity)})
		if err != nil {
			return Answer{}, err
		}
		return Answer{Available: found[0].Available, Reason: found[0].Reason}, nil
	default:
		found, err := c.reg.Entity(ctx, c.scope, c.entity(o.Entity))
		answer := Answer{Archived: found.Archived, Version: found.Version, Names: c.seen(found.Names...)}
		slices.SortFunc(answer.Names, func(a, b Seen) int { return a.Name - b.Name })
		return answer, err
	}
}

// seen converts names for an Answer.
func (c *client) seen(names ...dibs.Name) []Seen {
	var seen []Seen
	for _, n := range names {
		s := Seen{Name: c.nameNumber(n), State: n.State, Status: n.Status, Epoch: n.Epoch, Entity: c.entityNumber(n.Entity)}
		if n.State == dibs.Held {
			s.Ends = at(n.ExpiresAt)
		}
		seen = append(seen, s)
	}
	return seen
}

// foreign is the number of a name or an entity that the history does not have. No answer with it is right.
const foreign = -1

// nameNumber is the number of a name in an answer.
func (c *client) nameNumber(n dibs.Name) int {
	for i := 1; i <= maxNames; i++ {
		if n.ID == c.id(i) && n.Namespace == c.namespace && n.Value == c.name(i) {
			return i
		}
	}
	return foreign
}

// entityNumber is the number of an entity in an answer; zero for none.
func (c *client) entityNumber(entity dibs.Entity) int {
	if entity == (dibs.Entity{}) {
		return 0
	}
	for i := 1; i <= maxEntities; i++ {
		if entity == c.entity(i) {
			return i
		}
	}
	return foreign
}
