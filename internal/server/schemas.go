package server

import (
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/wire"
)

// enum is a text of the API that has one of some values. It is a schema with a name, so that a
// generator of clients makes one type for all members that have it. Only the document has it: the
// checks of requests have messages of their own.
type enum struct {
	name, description string
	values            []string
	members           []string // schema and member, such as "Name.state"
}

// texts returns values of any type of text.
func texts[T ~string](values ...T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return list
}

var enums = []enum{
	{
		"State", "The state of a name: free; held, for a limited time; suspect, a hold that ended and whose entity may have been saved; active, the name of an entity; alias, an old name that redirects; quarantined, given up and for a while only for its last owner.",
		texts(dibs.Free, dibs.Held, dibs.Suspect, dibs.Active, dibs.Alias, dibs.Quarantined),
		[]string{"Name.state", "Snapshot.state", "Holder.state", "NameCount.state"},
	},
	{
		"Status", "What became of the last reservation of a name. A suspect has ended, and waits for a verdict on whether its entity was saved.",
		texts(dibs.StatusReserved, dibs.StatusSuspect, dibs.StatusConfirmed, dibs.StatusReleased, dibs.StatusExpired),
		[]string{"Name.status", "Snapshot.status"},
	},
	{
		"Reason", "Why a name is not available: held or suspect by another reservation, in_use by an entity, quarantined, a reserved_word, invalid by a rule, or confusable with another name.",
		reasons,
		[]string{"Problem.reason", "Failure.reason", "Availability.reason", "OneAvailability.reason"},
	},
	{
		"EventKind", "What happened. A rename is two events, demoted for the old name and claimed for the new one; docs/events.md describes all.",
		texts(wire.EventKinds()...),
		[]string{"Event.kind", "Webhook.kinds", "WebhookRequest.kinds", "WebhookChange.kinds", "DeadLetter.kind"},
	},
	{
		"ResolveOutcome", "Where a name leads: active, to an entity; moved, to the present name of its entity; gone, to nothing any more; not_found, nowhere.",
		texts(dibs.ResolveActive, dibs.ResolveMoved, dibs.ResolveGone, dibs.ResolveNotFound),
		[]string{"Resolution.outcome", "Problem.outcome"},
	},
	{
		"FindingKind", "How new rules change a name.",
		texts(dibs.FindingChange, dibs.FindingMerge, dibs.FindingCollision, dibs.FindingInvalid, dibs.FindingLookAlike, dibs.FindingUnfiled),
		[]string{"Finding.kind"},
	},
	{
		"Op", "A command: the operation id of its own call.", wire.Ops(), []string{"Command.op"},
	},
	{
		"Verdict", "Whether the entity of a suspect was saved.",
		[]string{"exists", "absent"},
		[]string{"SettleInputBody.outcome", "Command.outcome"},
	},
	{
		"ConflictReason", "Why an attempt was refused: the reason of a taken name, else the code of the problem in lower case.",
		conflictReasons(),
		[]string{"ConflictBucket.reason"},
	},
	{
		"Code", "The kind of a problem, for programs. A later version of the server may have more.",
		slices.Concat(libraryCodes, ownCodes),
		[]string{"Problem.code", "Failure.code"},
	},
}

// ownEnums are enums of the API alone, which the library does not have.
var ownEnums = []enum{
	{
		"ImportOutcome", "What became of a name: imported; unchanged, the entity had it already; refused.",
		[]string{"imported", "unchanged", "refused"},
		[]string{"Imported.outcome"},
	},
	{
		"SignedInBy", "How a caller proved who it is; none for an anonymous caller.",
		[]string{"none", "key", "token", "certificate", "session"},
		[]string{"Me.signedInBy"},
	},
}

var reasons = texts(dibs.ReasonHeld, dibs.ReasonInUse, dibs.ReasonSuspect, dibs.ReasonQuarantined, dibs.ReasonReservedWord,
	dibs.ReasonInvalid, dibs.ReasonConfusable)

// libraryCodes are the codes of the library.
var libraryCodes = texts(dibs.CodeNameTaken, dibs.CodeNotFound, dibs.CodeLost, dibs.CodeAlreadyExpired, dibs.CodeAlreadyConfirmed,
	dibs.CodeAlreadyReleased, dibs.CodeEntityNotFound, dibs.CodeEntityHasName, dibs.CodeEntityArchived, dibs.CodeNotOwner,
	dibs.CodeVersionMismatch, dibs.CodeInvalidValue, dibs.CodeReservedWord, dibs.CodeInvalidNamespace, dibs.CodeInvalidToken,
	dibs.CodeInvalidEntity, dibs.CodeInvalidTTL, dibs.CodeTTLTooLong, dibs.CodeTooLarge, dibs.CodeTooManyHolds,
	dibs.CodeOutcomeUnknown, dibs.CodeUnavailable)

// conflictReasons are the reasons under which refused attempts are counted.
func conflictReasons() []string {
	list := slices.Clone(reasons)
	for _, code := range libraryCodes {
		if reason := strings.ToLower(code); !slices.Contains(list, reason) {
			list = append(list, reason)
		}
	}
	return list
}

// ownCodes are the codes of the server, for what the library does not know.
var ownCodes = []string{
	"INVALID_REQUEST", "INVALID_CURSOR", "INVALID_WEBHOOK", "TOO_MANY_WEBHOOKS", "WEBHOOK_NOT_FOUND", "DEAD_LETTER_NOT_FOUND", "EVENT_PURGED",
	"NO_WEBHOOKS", "WEBHOOK_DECLARED", "INVALID_KEY", "KEY_NAME_TAKEN", "KEY_NOT_FOUND", "KEY_DECLARED", "LAST_KEY", "VALUE_IN_URL", "UNAUTHORIZED", "FORBIDDEN", "GONE", "MOVED", "NOT_FOUND", "METHOD_NOT_ALLOWED", "TOO_MANY_REQUESTS",
	"BODY_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "NOT_ACCEPTABLE", "REQUEST_TIMEOUT", "CROSS_ORIGIN", "KEY_NEEDED", "INTERNAL",
}

// parameterEnums are the enums of parameters, by operation and parameter.
var parameterEnums = map[string]string{"listNames.state": "State"}

// openObjects are objects with any members. Each is a schema with a name.
var openObjects = []struct {
	name, description string
	values            huma.Schema
	most              *int     // entries
	members           []string // schema and member
}{
	{
		"Meta", "Texts of the caller's own, kept with a hold: up to 16 entries, keys and values of up to 255 bytes.",
		huma.Schema{Type: huma.TypeString, MaxLength: new(255)},
		new(16),
		[]string{"Name.meta", "Event.meta", "Command.meta", "Reserve.meta", "ReserveInputBody.meta", "ReserveFirstInputBody.meta", "ClaimInputBody.meta", "Import.meta"},
	},
	{
		"FindingCounts", "The number of names by kind of finding.",
		huma.Schema{Type: huma.TypeInteger, Format: "int64"},
		nil,
		[]string{"Recanonicalization.counts"},
	},
	{
		"EventCounts", "The number of events by kind.",
		huma.Schema{Type: huma.TypeInteger, Format: "int64"},
		nil,
		[]string{"ActivityBucket.events"},
	},
	{
		"LimitTexts", "Limits by their names in the configuration: a rate such as 100/s, a number, or off.",
		huma.Schema{Type: huma.TypeString},
		nil,
		[]string{"ServerInfo.limits"},
	},
}

// nameSchemas gives the texts with fixed values, and the objects with any members, a schema each.
func nameSchemas(schemas map[string]*huma.Schema) {
	replace := func(name string, members []string, schema *huma.Schema) {
		for _, path := range members {
			object, member, _ := strings.Cut(path, ".")
			text := schemas[object].Properties[member]
			if text.Items != nil {
				text = text.Items
			}
			*text = huma.Schema{Ref: refPrefix + name, Description: text.Description}
		}
		schemas[name] = schema
	}
	for _, e := range slices.Concat(enums, ownEnums) {
		schema := &huma.Schema{Type: huma.TypeString, Description: e.description}
		for _, v := range e.values {
			schema.Enum = append(schema.Enum, v)
		}
		replace(e.name, e.members, schema)
	}
	for _, o := range openObjects {
		replace(o.name, o.members, &huma.Schema{
			Type: huma.TypeObject, Description: o.description, AdditionalProperties: &o.values, MaxProperties: o.most,
		})
	}
}
