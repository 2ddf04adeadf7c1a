package linear

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/calldibs/dibs"
)

// noon is the start of the histories of these tests.
const noon = millis(1_800_000_000_000)

// answered is an Op with its answer; from and to are milliseconds after noon.
func answered(from, to millis, o Op, a Answer) porcupine.Operation {
	o.Asked, a.At = noon+from, noon+to
	return porcupine.Operation{Input: o, Output: a, Call: int64(from), Return: int64(to)}
}

// lost is an Op without an answer.
func lost(from millis, o Op) porcupine.Operation {
	o.Asked = noon + from
	return porcupine.Operation{Input: o, Output: Answer{Lost: true}, Call: int64(from), Return: 1 << 40}
}

// Answers of a correct registry.
func heldUntil(ends millis, epoch uint64) Answer {
	return Answer{Names: []Seen{{Name: 1, State: dibs.Held, Status: dibs.StatusReserved, Epoch: epoch, Ends: noon + ends}}}
}

func activeOf(entity int, epoch, version uint64) Answer {
	return Answer{Version: version, Names: []Seen{{Name: 1, State: dibs.Active, Status: dibs.StatusConfirmed, Epoch: epoch, Entity: entity}}}
}

func replayed(a Answer) Answer {
	a.Replayed = true
	return a
}

func released(epoch uint64) Answer {
	return Answer{Names: []Seen{{Name: 1, State: dibs.Free, Status: dibs.StatusReleased, Epoch: epoch}}}
}

const hour = millis(3_600_000)

var (
	reserve1  = Op{Verb: Reserve, Name: 1, Token: 1, TTL: time.Hour}
	reserve2  = Op{Verb: Reserve, Name: 1, Token: 2, TTL: time.Hour}
	brief1    = Op{Verb: Reserve, Name: 1, Token: 1, TTL: time.Second}
	extend1   = Op{Verb: Extend, Name: 1, Token: 1, TTL: 2 * time.Hour}
	confirm1  = Op{Verb: Confirm, Name: 1, Token: 1, Entity: 1}
	release1  = Op{Verb: Release, Name: 1, Token: 1}
	release2  = Op{Verb: Release, Name: 1, Token: 2}
	claim1    = Op{Verb: Claim, Name: 1, Entity: 1}
	claim2    = Op{Verb: Claim, Name: 1, Entity: 2}
	resolve   = Op{Verb: Resolve, Name: 1}
	get       = Op{Verb: Get, Name: 1}
	taken     = Answer{Code: dibs.CodeNameTaken, Reason: dibs.ReasonHeld}
	inUse     = Answer{Code: dibs.CodeNameTaken, Reason: dibs.ReasonInUse}
	nowhere   = Answer{Outcome: dibs.ResolveNotFound}
	toEntity1 = Answer{Outcome: dibs.ResolveActive, Entity: 1}
)

// The model finds forbidden histories, and accepts allowed ones.
func TestModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want    porcupine.CheckResult
		history []porcupine.Operation
	}{
		"sequential": {porcupine.Ok, []porcupine.Operation{
			answered(0, 1, reserve1, heldUntil(hour, 1)), answered(2, 3, reserve2, taken), answered(4, 5, confirm1, activeOf(1, 1, 1)),
			answered(6, 7, resolve, toEntity1), answered(8, 9, claim2, inUse),
		}},
		"two concurrent, one wins": {porcupine.Ok, []porcupine.Operation{
			answered(0, 9, reserve1, taken), answered(1, 8, reserve2, heldUntil(hour, 1)),
		}},
		"two owners": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 9, claim1, activeOf(1, 1, 1)), answered(1, 8, claim2, activeOf(2, 1, 1)),
		}},
		"two holders": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 9, reserve1, heldUntil(hour, 1)), answered(1, 8, reserve2, heldUntil(hour, 2)),
		}},
		"a read during a change": {porcupine.Ok, []porcupine.Operation{
			answered(0, 9, claim1, activeOf(1, 1, 1)), answered(1, 2, resolve, toEntity1), answered(3, 4, resolve, toEntity1),
		}},
		"a stale read": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, claim1, activeOf(1, 1, 1)), answered(2, 3, resolve, nowhere),
		}},
		"a read that goes back": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 9, claim1, activeOf(1, 1, 1)), answered(1, 2, resolve, toEntity1), answered(3, 4, resolve, nowhere),
		}},
		"a lost acknowledged write": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, reserve1, heldUntil(hour, 1)), answered(2, 3, reserve2, heldUntil(hour, 1)),
		}},
		"an epoch that goes back": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, reserve1, heldUntil(hour, 1)), answered(2, 3, release1, released(1)), answered(4, 5, reserve2, heldUntil(hour, 1)),
		}},
		"a version that goes back": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, claim1, activeOf(1, 1, 4)), answered(2, 3, Op{Verb: Archive, Entity: 1}, Answer{Version: 4}),
		}},
		"an unfounded refusal": {porcupine.Illegal, []porcupine.Operation{answered(0, 1, reserve1, taken)}},
		"an unknown outcome that happened": {porcupine.Ok, []porcupine.Operation{
			lost(0, claim1), answered(2, 3, resolve, nowhere), answered(4, 5, resolve, toEntity1), answered(6, 7, claim2, inUse),
		}},
		"an unknown outcome that did not happen": {porcupine.Ok, []porcupine.Operation{
			lost(0, claim1), answered(2, 3, claim2, activeOf(2, 1, 1)), answered(4, 5, claim2, Answer{Replayed: true, Version: 1, Names: activeOf(2, 1, 1).Names}),
		}},
		"an unknown outcome that happened and was undone": {porcupine.Illegal, []porcupine.Operation{
			lost(0, claim1), answered(2, 3, resolve, toEntity1), answered(4, 5, resolve, nowhere),
		}},
		"an unknown outcome before its call": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, resolve, toEntity1), lost(2, claim1),
		}},
		"a hold that lapses": {porcupine.Ok, []porcupine.Operation{
			answered(0, 1, brief1, heldUntil(1000, 1)), answered(900, 901, reserve2, taken), answered(1100, 1101, reserve2, heldUntil(hour+1100, 2)),
			answered(1102, 1103, confirm1, refused(dibs.CodeLost)),
		}},
		"a late duplicate": {porcupine.Ok, []porcupine.Operation{
			answered(0, 1, brief1, heldUntil(1000, 1)), answered(1100, 1101, reserve2, heldUntil(hour+1100, 2)), answered(1102, 1103, reserve1, taken),
			answered(1104, 1105, release2, released(2)), answered(1106, 1107, reserve1, refused(dibs.CodeAlreadyExpired)),
		}},
		"a late duplicate that takes the name": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, brief1, heldUntil(1000, 1)), answered(1100, 1101, reserve2, heldUntil(hour+1100, 2)), answered(1104, 1105, release2, released(2)),
			answered(1106, 1107, reserve1, heldUntil(hour+1106, 3)),
		}},
		"a hold given away early": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, brief1, heldUntil(1000, 1)), answered(900, 901, reserve2, heldUntil(hour+900, 2)),
		}},
		"a hold confirmed late": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, brief1, heldUntil(1000, 1)), answered(1100, 1101, confirm1, activeOf(1, 1, 1)),
		}},
		"a lapsed hold that is back": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, brief1, heldUntil(1000, 1)), answered(990, 1000, reserve2, heldUntil(hour+1000, 2)), answered(1001, 1002, get, heldUntil(1000, 1)),
		}},
		"an extension": {porcupine.Ok, []porcupine.Operation{
			answered(0, 1, reserve1, heldUntil(hour, 1)), answered(2, 3, extend1, heldUntil(2*hour+2, 1)), answered(4, 5, get, heldUntil(2*hour+2, 1)),
		}},
		"an extension that was not needed": {porcupine.Ok, []porcupine.Operation{
			answered(0, 1, Op{Verb: Reserve, Name: 1, Token: 1, TTL: 3 * time.Hour}, heldUntil(3*hour, 1)),
			answered(2, 3, extend1, replayed(heldUntil(3*hour, 1))),
		}},
		"an extension that did nothing": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, reserve1, heldUntil(hour, 1)), answered(2, 3, extend1, replayed(heldUntil(hour, 1))),
		}},
		"an extension that is too long": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, reserve1, heldUntil(hour, 1)), answered(2, 3, extend1, heldUntil(3*hour, 1)),
		}},
		"a claim without a version": {porcupine.Illegal, []porcupine.Operation{answered(0, 1, claim1, activeOf(1, 1, 0))}},
		"two reserved together for too long": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, Op{Verb: ReserveBoth, Name: 1, Other: 2, Token: 1, TTL: time.Hour}, Answer{Names: []Seen{
				{Name: 1, State: dibs.Held, Status: dibs.StatusReserved, Epoch: 1, Ends: noon + hour},
				{Name: 2, State: dibs.Held, Status: dibs.StatusReserved, Epoch: 1, Ends: noon + 2*hour},
			}}),
		}},
		"a name that the history does not have": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, claim1, Answer{Version: 1, Names: []Seen{{foreign, dibs.Active, dibs.StatusConfirmed, 1, 1, 0}}}),
		}},
		"one of two reserved together": {porcupine.Illegal, []porcupine.Operation{
			lost(0, Op{Verb: ReserveBoth, Name: 1, Other: 2, Token: 1, TTL: time.Hour}),
			answered(2, 3, get, heldUntil(hour, 1)), answered(4, 5, Op{Verb: Get, Name: 2}, refused(dibs.CodeNotFound)),
		}},
		"half of a swap": {porcupine.Illegal, []porcupine.Operation{
			answered(0, 1, claim1, activeOf(1, 1, 1)),
			answered(2, 3, Op{Verb: Claim, Name: 2, Entity: 2}, Answer{Version: 1, Names: []Seen{{2, dibs.Active, dibs.StatusConfirmed, 1, 2, 0}}}),
			lost(4, Op{Verb: Swap, Name: 1, Entity: 1, Other: 2, To: 2}),
			answered(5, 6, resolve, Answer{Outcome: dibs.ResolveActive, Entity: 2}),
			answered(7, 8, Op{Verb: Resolve, Name: 2}, Answer{Outcome: dibs.ResolveActive, Entity: 2}),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := porcupine.CheckOperationsTimeout(model(false, false), c.history, mostChecking); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// An answer about another namespace, or another entity, is no answer about this one.
func TestForeignAnswers(t *testing.T) {
	t.Parallel()
	c := &client{scope: "h1", namespace: "h1.plain"}
	own := dibs.Name{ID: c.id(2), Namespace: c.namespace, Value: c.name(2), State: dibs.Active, Entity: c.entity(3)}
	if seen := c.seen(own)[0]; seen.Name != 2 || seen.Entity != 3 {
		t.Errorf("got %+v", seen)
	}
	for what, change := range map[string]func(*dibs.Name){
		"namespace": func(n *dibs.Name) { n.Namespace = "h2.plain" },
		"id":        func(n *dibs.Name) { n.ID = dibs.NameID("h2.plain", n.Value) },
		"value":     func(n *dibs.Name) { n.Value = "another-name-2" },
		"entity":    func(n *dibs.Name) { n.Entity.Type = "group" },
	} {
		n := own
		change(&n)
		if seen := c.seen(n)[0]; seen.Name != foreign && seen.Entity != foreign {
			t.Errorf("with another %s: %+v", what, seen)
		}
	}
}

// Names that are checked separately are all checked.
func TestModelOfNamesApart(t *testing.T) {
	t.Parallel()
	history := []porcupine.Operation{
		answered(0, 1, Op{Verb: Resolve, Name: 2}, nowhere), answered(0, 1, claim1, activeOf(1, 1, 1)), answered(2, 3, resolve, nowhere),
	}
	if got := porcupine.CheckOperationsTimeout(model(true, false), history, mostChecking); got != porcupine.Illegal {
		t.Errorf("got %s", got)
	}
}
