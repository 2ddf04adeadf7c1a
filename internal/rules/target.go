package rules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/calldibs/dibs"
)

const (
	maxValue       = 1024
	maxCorrelation = 255
	maxMetaEntries = 16
	maxMetaText    = 255
	maxNames       = 32 // how many names one command may touch
)

// target is a name as a command addresses it: canonical, with its ID and policy. In a blind
// namespace keyed hashes replace value and canonical form from the start.
type target struct {
	namespaceInfo
	value     string
	canonical string
	id        dibs.ID // of its row; in a blind namespace, of the row that would be made now
	field     string
	invalid   *dibs.Error // why the value is not a name here; then there is no ID

	hashes    []indexKey // in a blind namespace, the index keys of its row
	skeletons []indexKey // of a new name, the index keys of its look-alikes
}

// target finds the name that a value means in a namespace, for a decision that reads it.
func (p *preparer) target(namespace, value, field string) *target {
	t, _ := p.locate(namespace, value, field)
	p.check(t.invalid)
	p.want(t.ref())
	for _, key := range t.hashes {
		p.want(key.Ref)
	}
	return t
}

// newTarget is target for a name that the caller wants to have: reserved words are refused, unless
// the caller asks to override them and the principal has the right.
func (p *preparer) newTarget(namespace, value, field string, override bool) *target {
	t, canonical := p.locate(namespace, value, field)
	if t.invalid == nil {
		t.invalid = cmp.Or(p.mayUseWord(t, canonical, override), t.setSkeletons(canonical))
	}
	if t.invalid != nil {
		p.check(t.invalid)
		return t
	}
	p.expectAbsent(t.ref())
	for _, key := range slices.Concat(t.skeletons, t.hashes) {
		p.expectAbsent(key.Ref)
	}
	p.want(namespaceRecordRef(t.namespace))
	return t
}

// locate works out which name a value means in a namespace. It also returns the canonical form,
// which must not be kept in a blind namespace.
func (p *preparer) locate(namespace, value, field string) (t *target, canonical string) {
	ns, err := p.policies.namespace(namespace)
	t = &target{namespaceInfo: ns, value: value, field: cmp.Or(field, ns.kind), invalid: err}
	if err != nil {
		err.Field = field
		return t, ""
	}
	canonical, why := ns.policy.canonical(value)
	if why != nil {
		t.invalid = t.invalidValue(value, why)
		return t, ""
	}
	t.canonical = canonical
	if ns.policy.blind() {
		t.hide(canonical)
	}
	t.id = dibs.NameID(namespace, t.canonical)
	return t, canonical
}

func (p *preparer) mayUseWord(t *target, canonical string, override bool) *dibs.Error {
	words := t.policy.ReservedWords
	if words == nil || !words.Reserved(canonical) || (override && p.principal.HasIn(t.namespace, dibs.OverrideReserved)) {
		return nil
	}
	word, why, right := quote(canonical), "is a reserved word here", ""
	if t.policy.blind() {
		word = "the value"
	}
	if explainer, ok := words.(dibs.WordExplainer); ok {
		why = explainer.Explain(canonical)
	}
	if override {
		right = ", and the principal has no right to override it"
	}
	return t.refuse(dibs.CodeReservedWord, "%s %s%s", word, why, right)
}

// isReservedWord reports whether the policy refuses a value for being a reserved word.
func (t *target) isReservedWord(value string) bool {
	if value == "" || t.policy.ReservedWords == nil {
		return false
	}
	canonical, why := t.policy.canonical(value)
	return why == nil && t.policy.ReservedWords.Reserved(canonical)
}

// setSkeletons sets the index keys of the name's look-alikes.
func (t *target) setSkeletons(canonical string) *dibs.Error {
	if t.policy.Skeleton == nil {
		return nil
	}
	skeleton, fail := t.policy.skeleton(canonical)
	if fail != nil {
		return t.invalidValue(t.value, fail)
	}
	if !t.policy.blind() {
		t.skeletons = []indexKey{skeletonKey(t.namespaceInfo, skeleton)}
		return nil
	}
	for _, k := range t.policy.Blind {
		t.skeletons = append(t.skeletons, skeletonKey(t.namespaceInfo, keyedHash(k, dibs.KindSkeleton, t.namespace, skeleton)))
	}
	return nil
}

// checkDetails checks what a caller may attach to a hold.
func (t *target) checkDetails(correlationID string, meta map[string]string) *dibs.Error {
	if problem := textProblem(correlationID, 0, maxCorrelation); problem != "" {
		return t.refuse(dibs.CodeInvalidValue, "the correlation id %s", problem)
	}
	if len(meta) > maxMetaEntries {
		return t.refuse(dibs.CodeInvalidValue, "meta has %d entries, more than the %d allowed", len(meta), maxMetaEntries)
	}
	for k, v := range meta {
		if problem := textProblem(k, 1, maxMetaText); problem != "" {
			return t.refuse(dibs.CodeInvalidValue, "the meta key %s %s", quote(k), problem)
		}
		if problem := textProblem(v, 0, maxMetaText); problem != "" {
			return t.refuse(dibs.CodeInvalidValue, "the meta value of %s %s", quote(k), problem)
		}
	}
	return nil
}

// key returns the name with its namespace, for messages.
func (t *target) key() string { return t.namespace + ":" + t.canonical }

func (t *target) ref() dibs.Ref { return nameRef(t.scope, t.id) }

func (t *target) refuse(code dibs.Code, format string, args ...any) *dibs.Error {
	return t.about(refuse(code, format, args...))
}

// about adds the name to an error.
func (t *target) about(err *dibs.Error) *dibs.Error {
	if err != nil {
		err.Namespace, err.Field = t.namespace, t.field
		if t.canonical != "" {
			err.Key = t.key()
		}
	}
	return err
}

// invalidValue makes the error for a value that the namespace does not accept. In a blind namespace
// the error contains nothing of the value.
func (t *target) invalidValue(value string, why error) *dibs.Error {
	refusal, _ := errors.AsType[*dibs.Refusal](why)
	if refusal != nil && t.isReservedWord(refusal.Try) {
		own := *refusal
		own.Try = "" // it would be refused, too
		refusal, why = &own, &own
	}
	if !t.policy.blind() {
		err := t.refuse(dibs.CodeInvalidValue, "the value %s is not valid here: %v", quote(value), why)
		err.Refusal = refusal
		return err
	}
	if refusal == nil {
		return t.refuse(dibs.CodeInvalidValue, "the value is not valid here")
	}
	err := t.refuse(dibs.CodeInvalidValue, "the value is not valid here: it breaks the rule %s", refusal.Rule)
	err.Refusal = &dibs.Refusal{Rule: refusal.Rule, Problem: "breaks the rule " + refusal.Rule, At: -1}
	return err
}

func refuse(code dibs.Code, format string, args ...any) *dibs.Error {
	return &dibs.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// textProblem says why s is not a text of minLen to maxLen bytes of UTF-8 without control
// characters, or nothing.
func textProblem(s string, minLen, maxLen int) string {
	switch {
	case len(s) < minLen:
		return "is empty"
	case len(s) > maxLen:
		return fmt.Sprintf("has %d bytes, more than the %d allowed", len(s), maxLen)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	}
	if i := strings.IndexFunc(s, unicode.IsControl); i >= 0 {
		return fmt.Sprintf("has a control character at byte %d", i)
	}
	return ""
}

func checkAtMost(count, allowed int, what string) *dibs.Error {
	if count <= allowed {
		return nil
	}
	return refuse(dibs.CodeTooLarge, "%d %s, more than the %d allowed", count, what, allowed)
}

// quote shows untrusted text in a message: escaped, and cut if it is long.
func quote(s string) string {
	const most = 80
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%q…", s[:cut])
}
