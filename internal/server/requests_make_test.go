package server

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
)

// dice makes choices from the given bytes, and after them from a seeded generator.
type dice struct {
	data []byte
	rest *rand.Rand
}

func newDice(seed uint64, data []byte) *dice {
	hash := fnv.New64a()
	_, _ = hash.Write(data)
	return &dice{data, rand.New(rand.NewPCG(seed, hash.Sum64()))}
}

// n returns a number below k.
func (d *dice) n(k int) int {
	if len(d.data) < 2 {
		return d.rest.IntN(k)
	}
	v := int(d.data[0])<<8 | int(d.data[1])
	d.data = d.data[2:]
	return v % k
}

// oneIn is true with a probability of 1/k.
func (d *dice) oneIn(k int) bool { return d.n(k) == 0 }

func pick[T any](d *dice, list ...T) T { return list[d.n(len(list))] }

// known has ids, tokens, cursors and names from responses, for later requests.
type known struct {
	texts map[string][]string // by member
	holds [][2]string         // an id and its token
	names []fuzzedName        // with an owner
	not   string              // a text that is never used
}

// fuzzedName is a name and its owner.
type fuzzedName struct{ namespace, value, kind, id string }

// maxKnown is how many of each kind are kept: the newest.
const maxKnown = 64

func (k *known) learn(member, text string) {
	k.texts[member] = append(k.texts[member], text)
	if list := k.texts[member]; len(list) > maxKnown {
		k.texts[member] = list[len(list)-maxKnown:]
	}
}

// learnAll learns from a response.
func (k *known) learnAll(v any) {
	switch v := v.(type) {
	case map[string]any:
		id, _ := v["reservationId"].(string)
		if token, ok := v["token"].(string); ok && id != "" {
			k.holds = append(k.holds, [2]string{id, token})
			k.holds = k.holds[max(0, len(k.holds)-maxKnown):]
		}
		if entity, ok := v["entity"].(map[string]any); ok && id != "" {
			k.names = append(k.names, fuzzedName{fmt.Sprint(v["namespace"]), fmt.Sprint(v["value"]), fmt.Sprint(entity["type"]), fmt.Sprint(entity["id"])})
			k.names = k.names[max(0, len(k.names)-maxKnown):]
		}
		for name, member := range v {
			if text, ok := member.(string); ok && len(text) < 4096 && text != k.not {
				k.learn(name, text)
			}
			k.learnAll(member)
		}
	case []any:
		for _, element := range v[:min(len(v), 8)] {
			k.learnAll(element)
		}
	}
}

// fuzzedCall is an operation of the document.
type fuzzedCall struct {
	method, path string
	described
	body *huma.Schema
}

// generator makes requests.
type generator struct {
	*dice
	calls    []fuzzedCall
	registry huma.Registry
	known    *known
	keys     []string // empty if the server requires none
	receiver string   // where webhooks may be sent to

	deadHook string // a webhook with dead letters, which is not removed

	hold     [2]string  // of this request
	name     fuzzedName // of this request
	scope    string     // of the key, if it is a tenant's
	op       string     // of all commands after the first, if set
	oddOneIn int        // one in so many values is odd; 0 means none
}

// newGenerator makes one for the calls of a document.
func newGenerator(r *rig, keys []string) *generator {
	doc := readDocument(r)
	g := &generator{registry: doc.registry, known: &known{texts: make(map[string][]string)}, keys: keys, receiver: newReceiver(r).URL}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			call := fuzzedCall{method: strings.ToUpper(method), path: path, described: doc.Paths[path][method]}
			if call.RequestBody != nil {
				call.body = schemaFrom(r, call.RequestBody.Content["application/json"].Schema)
			}
			g.calls = append(g.calls, call)
		}
	}
	return g
}

// next makes a request: every other one is valid by the document, the others are more or less
// odd.
func (g *generator) next() *fuzzedRequest {
	g.hold = [2]string{dibs.NameID("slug", g.text("value")).String(), g.text("token")}
	if len(g.known.holds) > 0 && !g.oneIn(4) {
		g.hold = pick(g.dice, g.known.holds...)
	}
	g.name, g.op, g.scope = fuzzedName{}, "", ""
	if len(g.known.names) > 0 && g.oneIn(2) {
		g.name = pick(g.dice, g.known.names...)
	}
	g.oddOneIn = pick(g.dice, 0, 0, 0, 0, 30, 30, 8, 3)
	call := pick(g.dice, g.calls...)
	if g.oneIn(4) { // it covers all commands
		call = g.calls[slices.IndexFunc(g.calls, func(c fuzzedCall) bool { return c.OperationID == "apply" })]
	}
	r := &fuzzedRequest{method: call.method, target: call.path}
	r.set("Host", "localhost")
	g.authorize(r)
	g.parameters(r, call)
	if call.body != nil {
		r.set("Content-Type", "application/json")
		r.body = g.value(call.body, "")
	}
	if g.oddOneIn > 0 {
		g.spoil(r)
	}
	r.body = r.body[:min(len(r.body), 2<<20)] // twice the allowed size
	return r
}

func (g *generator) authorize(r *fuzzedRequest) {
	if len(g.keys) == 0 {
		return
	}
	key := "key-all"
	switch g.n(8) {
	case 0:
		return
	case 1:
		key = pick(g.dice, g.keys...)
	case 2, 3: // a tenant, mostly with its own names
		g.scope = pick(g.dice, "acme", "globex")
		key, g.name = "key-"+g.scope, fuzzedName{}
	}
	r.set("Authorization", "Bearer "+key)
}

// parameters fills in path, query and headers.
func (g *generator) parameters(r *fuzzedRequest, call fuzzedCall) {
	query := url.Values{}
	for _, p := range call.Parameters {
		text := g.parameter(p.Name, call.path)
		if g.odd() {
			text = g.oddText()
		}
		switch {
		case p.In == "path":
			r.target = strings.ReplaceAll(r.target, "{"+p.Name+"}", escapePath(text))
		case !p.Required && !g.oneIn(3) && p.Name != "X-Forwarded-Uri":
		case p.In == "query":
			query.Set(p.Name, text)
		case p.In == "header":
			r.set(p.Name, strings.Map(func(c rune) rune {
				if c == '\r' || c == '\n' {
					return -1
				}
				return c
			}, text))
		}
	}
	if len(query) > 0 {
		r.target += "?" + query.Encode()
	}
}

func escapePath(text string) string {
	if text == "." || text == ".." || text == "" {
		return "%2E"
	}
	return url.PathEscape(text)
}

func (g *generator) parameter(name, path string) string {
	webhooks := strings.HasPrefix(path, webhooksPath)
	switch {
	case name == "id" && strings.HasPrefix(path, lettersPath) && !g.oneIn(4):
		return g.deadHook
	case name == "id" && webhooks:
		return g.remembered("id", "wh_aaaaaaaaaaaaaaaaaaaa", "wh_")
	case name == "letter":
		return g.remembered("id", "dl_000000000001", "dl_")
	case name == "prefix" && path == "/v1/resolve":
		return pick(g.dice, "/", "/w/", "/*/", "/w/*/x/", "w")
	case name == "limit" || name == "suggest":
		return strconv.Itoa(pick(g.dice, 0, 1, 2, 10, 100, 1000, -1, 1001))
	case name == "at" || name == "to" || name == "from" && !webhooks:
		return g.moment()
	case name == "open":
		return pick(g.dice, "true", "true", "false")
	case name == "refuse":
		return "403"
	case name == "bucket":
		return "hour"
	default:
		return g.text(name)
	}
}

// value writes JSON for a schema; name is that of the member.
func (g *generator) value(s *huma.Schema, name string) string {
	ref := s.Ref
	for s.Ref != "" {
		s = g.registry.SchemaFromRef(s.Ref)
	}
	if g.odd() {
		return g.oddJSON()
	}
	switch {
	case ref == schemaPrefix+"Command":
		return g.command(s)
	case len(s.Enum) > 0:
		return quoteJSON(fmt.Sprint(pick(g.dice, s.Enum...)))
	case s.Type == huma.TypeObject && s.Properties == nil:
		return g.object(map[string]string{g.text("key"): quoteJSON(g.text("entry")), "k": quoteJSON(g.text("entry"))})
	case s.Type == huma.TypeObject:
		members := make(map[string]string)
		for _, property := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, property) && !g.odd() || g.oneIn(3) {
				members[property] = g.value(s.Properties[property], property)
			}
		}
		return g.object(members)
	case s.Type == huma.TypeArray:
		elements := make([]string, pick(g.dice, 0, 1, 1, 1, 2, 2, 3, 5, 32, 32))
		for i := range elements {
			elements[i] = g.value(s.Items, name)
			if i == 0 && name == "commands" && g.oneIn(2) {
				g.op = pick(g.dice, append(slices.Sorted(maps.Keys(membersOf)), "extend", "confirm", "release", "settle", "extend", "confirm", "release", "settle")...)
			}
		}
		return "[" + strings.Join(elements, ",") + "]"
	case s.Type == huma.TypeInteger:
		return pick(g.dice, "1", "2", "5000", "60000", "300000", "0")
	case s.Type == huma.TypeBoolean:
		return pick(g.dice, "true", "false")
	case s.Format == "date-time":
		return quoteJSON(g.moment())
	default:
		return quoteJSON(g.text(name))
	}
}

// membersOf are the members of each op; those after the bar are optional.
var membersOf = map[string]string{
	"reserve": "namespace value | ttlMs token entity correlationId meta field overrideReserved", "reserveAll": "reservations | token",
	"reserveFirst": "namespace values | ttlMs token entity correlationId meta field overrideReserved", "extend": "reservationId token | ttlMs",
	"confirm": "reservationId token entity | replace replaces", "release": "reservationId token",
	"claim": "namespace value entity | correlationId meta field overrideReserved", "rename": "namespace value entity | replaces token ifVersion correlationId field overrideReserved",
	"archive": "entity | scope", "restore": "entity | scope", "delete": "entity | scope", "decommission": "namespace value entity", "transfer": "namespace value from to",
	"swap": "namespace a b", "settle": "reservationId outcome | entity", "rekey": "namespace value",
}

// command writes a command with the members of its op, and sometimes another one.
func (g *generator) command(s *huma.Schema) string {
	op := cmp.Or(g.op, pick(g.dice, slices.Sorted(maps.Keys(membersOf))...))
	must, may, _ := strings.Cut(membersOf[op], "|")
	names := strings.Fields(must)
	for name := range strings.FieldsSeq(may) {
		if g.oneIn(3) {
			names = append(names, name)
		}
	}
	if g.odd() {
		names = append(names, pick(g.dice, slices.Sorted(maps.Keys(s.Properties))...))
	}
	members := map[string]string{"op": quoteJSON(op)}
	for _, name := range names {
		members[name] = g.value(s.Properties[name], name)
	}
	return g.object(members)
}

func (g *generator) object(members map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		list = append(list, quoteJSON(name)+":"+members[name])
		if g.odd() { // a duplicate, or an unknown one
			list = append(list, quoteJSON(pick(g.dice, name, strings.ToUpper(name), g.oddText()))+":"+members[name])
		}
	}
	return "{" + strings.Join(list, ",") + "}"
}

func (g *generator) moment() string {
	return pick(g.dice, "2026-01-01T00:00:00Z", "2999-12-31T23:59:59.999Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59+14:00", "1969-12-31T23:59:59.999999999Z")
}

// remembered returns a text from a response with a prefix, or another text.
func (g *generator) remembered(member, other, prefix string) string {
	var list []string
	for _, text := range g.known.texts[member] {
		if strings.HasPrefix(text, prefix) {
			list = append(list, text)
		}
	}
	if len(list) == 0 || g.oneIn(10) {
		return other
	}
	return pick(g.dice, list...)
}

// text returns a valid text for a member.
func (g *generator) text(name string) string {
	if g.name.id != "" && !g.oneIn(8) {
		switch name {
		case "namespace":
			return g.name.namespace
		case "scope":
			return dibs.ScopeOf(g.name.namespace)
		case "value":
			return g.name.value
		case "type":
			return g.name.kind
		case "id":
			return g.name.id
		case "X-Forwarded-Uri":
			return "/w/" + url.PathEscape(g.name.value)
		}
	}
	switch name {
	case "namespace":
		if g.scope != "" && !g.oneIn(16) {
			return g.scope + pick(g.dice, ".slug", ".any")
		}
		return pick(g.dice, "slug", "slug", "any", "username", "email", "mill", "mwitness", "word", "kept", "looks", "few", "many", "found", "gone", "secret", "acme.slug", "globex.slug", "acme.any")
	case "scope":
		return cmp.Or(g.scope, pick(g.dice, "", "", "acme", "globex"))
	case "namespaces":
		if g.scope != "" && !g.oneIn(16) {
			return g.scope + ".*"
		}
		return pick(g.dice, "*", "acme.*", "slug", "globex.slug")
	case "verbs":
		return pick(g.dice, "read", "get", "hold", "all", "keys")
	case "name":
		return pick(g.dice, "shop", "billing")
	case "kinds":
		return pick(g.dice, "reserved", "confirmed", "expired", "deleted")
	case "value", "values", "replaces", "prefix":
		return pick(g.dice, "a", "b", "c", "alice", "Alice & Bob", "alice@example.com", "ünï-cödé", "admin", "x"+strconv.Itoa(g.n(50)), "y"+strconv.Itoa(g.n(20_000)), "Z "+strconv.Itoa(g.n(20_000)), g.remembered("value", "d", ""))
	case "reservationId":
		if g.oneIn(6) {
			return dibs.NameID(g.text("namespace"), g.text("value")).String()
		}
		return g.hold[0]
	case "token", "Idempotency-Key":
		if name == "token" && g.hold[1] != "" && !g.oneIn(4) {
			return g.hold[1]
		}
		return fmt.Sprintf("0123456789abcdef%d", g.n(50))
	case "type":
		return pick(g.dice, "user", "wedding")
	case "id":
		return strconv.Itoa(g.n(20))
	case "outcome":
		return pick(g.dice, "exists", "absent", "unknown")
	case "state":
		return pick(g.dice, "", "free", "held", "suspect", "active", "alias", "quarantined")
	case "url":
		return g.receiver
	case "cursor", "after", "Last-Event-ID", "from":
		return pick(g.dice, g.remembered("nextCursor", "", ""), g.remembered("cursor", "latest", ""), "now", "beginning")
	case "If-Match":
		return strconv.Quote(strconv.Itoa(g.n(4)))
	case "X-Forwarded-Uri":
		return pick(g.dice, "/w/alice?x=1", "/alice", "/w/a/x/b", "//", "/w/%2e%2e/x")
	case "X-Forwarded-Method":
		return pick(g.dice, "GET", "POST", "HEAD")
	case "Accept":
		return pick(g.dice, "application/json", "*/*", "text/event-stream")
	default:
		return pick(g.dice, "", "text", "more text", "ünï")
	}
}
