package model_test

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/model"
)

func draw[T any](w *world, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(w.t, label)
}

// drawNamespace and drawEntity prefer the first ones, so that some names get a long
// history.
func (w *world) drawNamespace() string {
	if w.changing != "" {
		return draw(w, "namespace", w.changing, w.changing, w.changing, w.changing, "two")
	}
	return draw(w, "namespace", "one", "one", "one", "two", "acme.one")
}

func (w *world) drawEntity() dibs.Entity {
	return draw(w, "entity", entities[0], entities[0], entities[1], entities[2])
}

func (w *world) drawIntended() dibs.Entity { return draw(w, "intended", append(entities, noEntity)...) }
func (w *world) drawToken() string         { return draw(w, "token", tokens...) }

// drawValue draws mostly valid values.
func (w *world) drawValue() string {
	return draw(w, "value", "a", "b", "A", "4", "c", "a", "b", "4", "c", "word", "no!")
}

func (w *world) drawTTL() dibs.TTL {
	return draw(w, "ttl", dibs.TTL{}, dibs.For(time.Second), dibs.For(7*time.Second), dibs.For(20*time.Second),
		dibs.For(30*time.Second), dibs.For(time.Millisecond), dibs.For(time.Minute))
}

// drawKey draws a name that satisfies a condition, if there is one, or any name: otherwise
// most commands would be refused.
func (w *world) drawKey(condition func(model.Name) bool) (model.Key, model.Name) {
	keys := w.model.Keys(condition)
	if len(keys) > 0 && rapid.IntRange(0, 4).Draw(w.t, "at random") < 4 {
		key := draw(w, "key", keys...)
		name, _ := w.model.Get(w.now, key)
		return key, name
	}
	key, ok := w.key(w.drawNamespace(), w.drawValue())
	if !ok {
		key, _ = w.key(key.Namespace, "a")
	}
	return key, model.Name{Token: w.drawToken(), Owner: w.drawEntity()}
}

func everHeld(n model.Name) bool { return n.Token != "" }
func isLive(n model.Name) bool   { return n.State == dibs.Held || n.State == dibs.Suspect }
func isOwned(n model.Name) bool  { return n.State == dibs.Active || n.State == dibs.Alias }
func isActive(n model.Name) bool { return n.State == dibs.Active }

func wasHeld(n model.Name) bool  { return everHeld(n) && !isOwned(n) && !isLive(n) }
func hadHolds(n model.Name) bool { return len(n.Spent) > 0 && !isOwned(n) && !isLive(n) }

func wasOwned(n model.Name) bool { return !isOwned(n) && !isLive(n) && n.Owner != noEntity }

// maybe returns mostly most of the time, otherwise else_.
func maybe[T any](w *world, label string, mostly, else_ T) T {
	if rapid.IntRange(0, 4).Draw(w.t, label) == 4 {
		return else_
	}
	return mostly
}

// spelled returns one of the spellings of a canonical form.
func (w *world) spelled(key model.Key) string {
	upper := "A"
	if k, _ := w.key(key.Namespace, upper); k == key {
		return draw(w, "spelling", key.Canonical, upper)
	}
	return key.Canonical
}

func (w *world) drawReserve() dibs.Reserve {
	again := func(condition func(model.Name) bool) (dibs.Reserve, model.Name) {
		key, name := w.drawKey(condition)
		return dibs.Reserve{Namespace: key.Namespace, Value: w.spelled(key), TTL: w.drawTTL(), Token: w.drawToken()}, name
	}
	switch draw(w, "again", "", "", "owned", "held", "late") {
	case "owned":
		r, name := again(wasOwned)
		r.Entity = name.Owner
		return r
	case "held": // so that there are holds before the last one
		r, name := again(wasHeld)
		r.Entity = name.Owner
		return r
	case "late": // a duplicate
		r, name := again(draw(w, "of", wasHeld, hadHolds))
		spent := slices.Clone(name.Spent)
		if everHeld(name) {
			spent = append(spent, model.Spent{Token: name.Token})
		}
		r.Token, r.Entity = draw(w, "spent", spent...).Token, name.Owner
		return r
	}
	return dibs.Reserve{
		Namespace: w.drawNamespace(), Value: w.drawValue(), TTL: w.drawTTL(), Token: w.drawToken(), Entity: w.drawIntended(),
	}
}

// drawImport draws a name that is active or an alias, of now or of an earlier time.
func (w *world) drawImport() dibs.Import {
	c := dibs.Import{Namespace: w.drawNamespace(), Value: w.drawValue(), Entity: w.drawEntity()}
	switch draw(w, "import", "new", "again", "alias") {
	case "again":
		key, name := w.drawKey(wasOwned)
		c.Namespace, c.Value, c.Entity = key.Namespace, w.spelled(key), maybe(w, "other", name.Owner, c.Entity)
	case "alias":
		key, name := w.drawKey(isOwned)
		c.Namespace, c.AliasOf, c.Entity = key.Namespace, w.spelled(key), maybe(w, "other", name.Owner, c.Entity)
	}
	if back := draw(w, "since", 0, -1, 1, 1000, 3_600_000); back != 0 {
		c.Since = time.UnixMilli(w.now - int64(back))
	}
	return c
}

// drawCommand draws a command of any kind.
func (w *world) drawCommand() dibs.Command {
	switch draw(w, "command", "reserve", "reserve", "claim", "import", "confirm", "confirm", "rename", "rename", "release", "extend", "all", "first",
		"archive", "restore", "delete", "decommission", "transfer", "swap", "settle") {
	case "all":
		return w.drawReserveAll()
	case "first":
		r := w.drawReserve()
		return dibs.ReserveFirst{
			Namespace: r.Namespace, Values: []string{r.Value, w.drawValue(), w.drawValue()}, TTL: r.TTL, Token: r.Token, Entity: r.Entity,
		}
	case "extend":
		key, name := w.drawKey(isLive)
		return dibs.Extend{ID: w.idOf(key), Token: maybe(w, "other token", name.Token, w.drawToken()), TTL: w.drawTTL()}
	case "confirm":
		return w.drawConfirm()
	case "release":
		key, name := w.drawKey(draw(w, "which hold", isLive, everHeld))
		return dibs.Release{ID: w.idOf(key), Token: maybe(w, "other token", name.Token, w.drawToken())}
	case "claim":
		if rapid.Bool().Draw(w.t, "again") {
			key, name := w.drawKey(wasOwned)
			return dibs.Claim{Namespace: key.Namespace, Value: w.spelled(key), Entity: maybe(w, "other", name.Owner, w.drawEntity())}
		}
		return dibs.Claim{Namespace: w.drawNamespace(), Value: w.drawValue(), Entity: w.drawEntity()}
	case "import":
		return w.drawImport()
	case "rename":
		return w.drawRename()
	case "archive":
		return dibs.Archive{Scope: draw(w, "scope", "", "acme"), Entity: w.drawEntity()}
	case "restore":
		return dibs.Restore{Scope: draw(w, "scope", "", "acme"), Entity: w.drawEntity()}
	case "delete":
		return dibs.Delete{Scope: draw(w, "scope", "", "acme"), Entity: w.drawEntity()}
	case "decommission":
		key, name := w.drawKey(isOwned)
		return dibs.Decommission{Namespace: key.Namespace, Value: w.spelled(key), Entity: maybe(w, "other", name.Owner, w.drawEntity())}
	case "transfer":
		key, name := w.drawKey(isOwned)
		return dibs.Transfer{
			Namespace: key.Namespace, Value: w.spelled(key), From: maybe(w, "other", name.Owner, w.drawEntity()), To: w.drawEntity(),
		}
	case "swap":
		return w.drawSwap()
	case "settle":
		key, _ := w.drawKey(func(n model.Name) bool { return n.State == dibs.Suspect })
		return dibs.Settle{ID: w.idOf(key), Verdict: draw(w, "verdict", dibs.Absent, dibs.Exists(w.drawEntity()))}
	}
	return w.drawReserve()
}

func (w *world) drawReserveAll() dibs.Command {
	all := dibs.ReserveAll{Token: w.drawToken()}
	for range rapid.IntRange(1, 3).Draw(w.t, "how many") {
		r := w.drawReserve()
		r.Token = ""
		all.Reservations = append(all.Reservations, r)
	}
	return all
}

func (w *world) drawConfirm() dibs.Command {
	key, name := w.drawKey(draw(w, "which hold", isLive, isLive, everHeld))
	entity := name.Shown()
	if entity == noEntity {
		entity = w.drawEntity()
	}
	return dibs.Confirm{
		ID: w.idOf(key), Token: maybe(w, "other token", name.Token, w.drawToken()), Entity: maybe(w, "other", entity, w.drawEntity()),
		Replace: rapid.Bool().Draw(w.t, "replace"), Replaces: draw(w, "replaces", "", "", "a", "b", "A", "4"),
	}
}

func (w *world) drawRename() dibs.Command {
	rename := dibs.Rename{Namespace: w.drawNamespace(), Value: w.drawValue(), Entity: w.drawEntity()}
	switch draw(w, "to what", "anything", "own", "held") {
	case "own":
		key, name := w.drawKey(isOwned)
		rename.Namespace, rename.Value, rename.Entity = key.Namespace, w.spelled(key), name.Owner
	case "held":
		key, name := w.drawKey(isLive)
		rename.Namespace, rename.Value, rename.Token = key.Namespace, w.spelled(key), name.Token
		if name.Intended != noEntity {
			rename.Entity = maybe(w, "other", name.Intended, rename.Entity)
		}
	}
	if rename.Token == "" {
		rename.Token = draw(w, "token", append(tokens, "")...)
	}
	rename.From = draw(w, "from", "", "", "a", "b", "A", "4", "c")
	if rapid.Bool().Draw(w.t, "from one of its own") {
		key, name := w.drawKey(func(n model.Name) bool { return isActive(n) && n.Owner == rename.Entity })
		if key.Namespace == rename.Namespace && isActive(name) {
			rename.From = w.spelled(key)
		}
	}
	if !w.hasVersions(scopes[rename.Namespace]) {
		return rename
	}
	e, _, _ := w.model.Entity(w.now, model.Owner{Scope: scopes[rename.Namespace], Entity: rename.Entity})
	rename.IfVersion = draw(w, "if version", 0, 0, e.Version, e.Version+1, max(e.Version, 1)-1)
	return rename
}

func (w *world) drawSwap() dibs.Command {
	keyA, a := w.drawKey(isActive)
	keyB, b := w.drawKey(func(n model.Name) bool { return isActive(n) && n.Owner != a.Owner })
	return dibs.Swap{
		Namespace: keyA.Namespace,
		A:         dibs.Named{Value: w.spelled(keyA), Entity: a.Owner},
		B:         dibs.Named{Value: keyB.Canonical, Entity: maybe(w, "other", b.Owner, w.drawEntity())},
	}
}

// drawMoment draws the new time: often the end of something, or a millisecond before or
// after it.
func (w *world) drawMoment() int64 {
	dates := slices.DeleteFunc(w.model.Dates(), func(date int64) bool { return date > w.now+(24*time.Hour).Milliseconds() })
	if len(dates) > 0 && rapid.IntRange(0, 3).Draw(w.t, "at random") < 3 {
		return max(w.now, draw(w, "date", dates...)+draw[int64](w, "off by", 0, -1, 1))
	}
	return w.now + draw(w, "pause", 1, time.Second.Milliseconds(), 9*time.Second.Milliseconds(), (2*time.Hour).Milliseconds())
}
