package cli

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// oneName returns the answer of a command about one name.
func oneName(r dibs.Result) *answer {
	document := wire.ResultOf(r).Names[0]
	document.Token = r.Token
	return &answer{document, func(p *printer) {
		p.name(r.Names[0], [2]string{"token", r.Token}, [2]string{"replayed", replayed(r)})
	}}
}

func replayed(r dibs.Result) string {
	if !r.Replayed {
		return ""
	}
	return "yes: nothing was changed"
}

// manyNames returns the answer of a command about any number of names, with own fields.
func manyNames(r dibs.Result, own ...[2]string) *answer {
	return &answer{wire.ResultOf(r), func(p *printer) { p.result(r, own...) }}
}

// result prints a result, after own fields.
func (p *printer) result(r dibs.Result, own ...[2]string) {
	p.names(r.Names)
	pending := ""
	if r.Pending {
		pending = "more names follow in sweeps; none of them resolves"
	}
	p.fields(append(own,
		[2]string{"token", r.Token},
		[2]string{"version", number(r.Version)},
		[2]string{"freed", join(r.Freed)},
		[2]string{"quarantined", join(r.Quarantined)},
		[2]string{"pending", pending},
		[2]string{"replayed", replayed(r)},
	)...)
}

// name prints all fields of a name.
func (p *printer) name(n dibs.Name, more ...[2]string) {
	p.fields(append([][2]string{
		{"name", keyText(n)},
		{"value", different(n)},
		{"state", string(n.State)},
		{"status", string(n.Status)},
		{"id", n.ID.String()},
		{"entity", owner(n.Entity)},
		{"archived", archivedText(n)},
		{"version", number(n.Version)},
		{"epoch", number(n.Epoch)},
		{"principal", n.Principal},
		{"correlation", n.CorrelationID},
		{"meta", pairs(n.Meta)},
		{"created", date(n.CreatedAt)},
		{"expires", p.expiry(n)},
		{"confirmed", date(n.ConfirmedAt)},
		{"ended", date(n.EndedAt)},
		{"until", p.moment(n.Until)},
		{"doubt", n.Doubt},
		{"asked", number(uint64(max(n.Asked, 0)))},
		{"next", p.moment(n.AskAt)},
	}, more...)...)
}

// names prints a list.
func (p *printer) names(names []dibs.Name) {
	rows := make([][]string, len(names))
	for i, n := range names {
		rows[i] = []string{keyText(n), different(n), stateText(n), owner(n.Entity), date(n.CreatedAt), p.end(n), n.ID.String()}
	}
	p.table([]string{"name", "value", "state", "entity", "created", "ends", "id"}, rows)
}

// keyText returns the key of a name. A name that was forgotten has no canonical form.
func keyText(n dibs.Name) string {
	if n.Canonical == "" {
		return n.Namespace + ": forgotten"
	}
	return n.Key()
}

// stateText returns the state for a list.
func stateText(n dibs.Name) string {
	if n.Archived {
		return string(n.State) + ", archived"
	}
	return string(n.State)
}

// archivedText explains that a name of an archived entity does not resolve.
func archivedText(n dibs.Name) string {
	if !n.Archived {
		return ""
	}
	return "yes: it stays taken and does not resolve; dibs restore --entity " + n.Entity.String()
}

// different returns the value if it differs from the canonical form.
func different(n dibs.Name) string {
	if n.Value == n.Canonical {
		return ""
	}
	return n.Value
}

// end returns when the state ends.
func (p *printer) end(n dibs.Name) string {
	if n.State == dibs.Held {
		return p.expiry(n)
	}
	return p.moment(n.Until)
}

// expiry returns the end of a hold, with the remaining time by the engine's clock. A name that was
// confirmed or given up still has ExpiresAt, but that is no end of what it is now.
func (p *printer) expiry(n dibs.Name) string {
	switch {
	case n.State != dibs.Held && n.State != dibs.Suspect:
		return ""
	case n.Remaining <= 0:
		return date(n.ExpiresAt)
	default:
		return moment(n.ExpiresAt, n.ExpiresAt.Add(-n.Remaining))
	}
}

func owner(e dibs.Entity) string {
	if e.IsZero() {
		return ""
	}
	return e.String()
}

func number(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

func pairs(meta map[string]string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		list = append(list, k+"="+meta[k])
	}
	return strings.Join(list, " ")
}
