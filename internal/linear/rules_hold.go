package linear

import "github.com/calldibs/dibs"

// refused is a refusal with a code.
func refused(code dibs.Code) Answer { return Answer{Code: code} }

// over returns how the last hold of a name ended.
func (n *name) over() dibs.Code {
	switch {
	case n.confirmed:
		return dibs.CodeAlreadyConfirmed
	case n.status == dibs.StatusReleased:
		return dibs.CodeAlreadyReleased
	case n.status == dibs.StatusExpired:
		return dibs.CodeAlreadyExpired
	}
	return ""
}

// taken returns why an entity, or any caller if entity is 0, cannot have a name.
func (n *name) taken(entity int) dibs.Reason {
	switch n.state {
	case dibs.Held:
		return dibs.ReasonHeld
	case dibs.Active, dibs.Alias:
		return dibs.ReasonInUse
	case dibs.Quarantined:
		if entity == 0 || entity != n.owner {
			return dibs.ReasonQuarantined
		}
	default: // the name is free; without a witness no name is suspect
	}
	return ""
}

func nameTaken(reason dibs.Reason) Answer {
	return Answer{Code: dibs.CodeNameTaken, Reason: reason}
}

// begin starts a new epoch of a name.
func (n *name) begin() {
	fresh := name{epoch: n.epoch + 1, spent: n.spent}
	if n.token != 0 {
		fresh.spent[n.token] = n.over()
	}
	if n.state == dibs.Quarantined {
		fresh.owner, fresh.kept = n.owner, true
	}
	*n = fresh
}

func (w *world) reserve(o Op, i int, got Answer) Answer {
	n := &w.names[i]
	if n.token != 0 && n.token == o.Token {
		if code := n.over(); code != "" {
			return refused(code)
		}
		if n.intended != o.Entity {
			return refused(dibs.CodeInvalidToken)
		}
		return Answer{Replayed: true, Names: []Seen{w.show(i)}}
	}
	if reason := n.taken(o.Entity); reason != "" {
		return nameTaken(reason)
	}
	if code := n.spent[o.Token]; code != "" {
		return refused(code)
	}
	n.begin()
	n.state, n.status, n.token, n.intended = dibs.Held, dibs.StatusReserved, o.Token, o.Entity
	n.ends = o.end(got)
	return Answer{Names: []Seen{w.show(i)}}
}

// reserveBoth takes both names or none. A refusal is that of the first refused name.
func (w *world) reserveBoth(o Op, got Answer) Answer {
	before := *w
	both := Answer{Replayed: true}
	for _, i := range []int{o.Name, o.Other} {
		a := w.reserve(o, i, got)
		if a.Code != "" {
			*w = before
			return a
		}
		both.Replayed = both.Replayed && a.Replayed
		both.Names = append(both.Names, a.Names...)
	}
	return both
}

// held finds the current or last hold of a token.
func (w *world) held(o Op) (*name, dibs.Code) {
	n := &w.names[o.Name]
	switch {
	case n.epoch == 0:
		return nil, dibs.CodeNotFound
	case n.token != o.Token:
		return nil, dibs.CodeLost
	}
	return n, ""
}

// extend moves the end of a hold. Whether the end moves depends on the millisecond, so the
// caller's answer decides.
func (w *world) extend(o Op, got Answer) Answer {
	n, code := w.held(o)
	if code == "" {
		code = n.over()
	}
	if code != "" {
		return refused(code)
	}
	end := o.end(got)
	switch {
	case got.Lost:
		n.ends.to = never
	case got.Replayed: // only if it already ended as late
		n.ends.from = max(n.ends.from, end.from)
	default: // the end only moves forward
		n.ends = span{max(n.ends.from+1, end.from), end.to}
	}
	return Answer{Replayed: got.Replayed, Names: []Seen{w.show(o.Name)}}
}

func (w *world) release(o Op) Answer {
	n, code := w.held(o)
	if code != "" {
		return refused(code)
	}
	if n.status == dibs.StatusReleased && !n.confirmed {
		return Answer{Replayed: true, Names: []Seen{w.show(o.Name)}}
	}
	if code := n.over(); code != "" {
		return refused(code)
	}
	n.endHold(dibs.StatusReleased)
	return Answer{Names: []Seen{w.show(o.Name)}}
}

func (w *world) confirm(o Op) Answer {
	n, code := w.held(o)
	switch {
	case code != "":
		return refused(code)
	case w.has(o.Entity, o.Name):
		return w.owned(o.Name, true)
	case n.confirmed && (n.state == dibs.Free || n.state == dibs.Quarantined):
		return refused(dibs.CodeAlreadyReleased)
	}
	if code := n.over(); code != "" {
		return refused(code)
	}
	e := &w.entities[o.Entity]
	switch {
	case n.intended != 0 && n.intended != o.Entity:
		return refused(dibs.CodeNotOwner)
	case e.archived:
		return refused(dibs.CodeEntityArchived)
	case e.active != 0 && o.Verb != Replace:
		return refused(dibs.CodeEntityHasName)
	}
	w.succeed(o.Name, o.Entity)
	return w.owned(o.Name, false)
}
