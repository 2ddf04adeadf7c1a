package server

import (
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/calldibs/dibs"
)

// enum is a text of the API that has one of some values. It is a schema with a name, so that a
// generator of clients makes one type for all members that have it.
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
		"State", "The state of a name.",
		texts(dibs.Free, dibs.Held, dibs.Suspect, dibs.Active, dibs.Alias, dibs.Quarantined),
		[]string{"Name.state", "Snapshot.state", "Holder.state", "NameCount.state"},
	},
	{
		"Status", "The status of the last reservation of a name.",
		texts(dibs.StatusReserved, dibs.StatusSuspect, dibs.StatusConfirmed, dibs.StatusReleased, dibs.StatusExpired),
		[]string{"Name.status", "Snapshot.status"},
	},
	{
		"Reason", "Why a name is not available.",
		texts(dibs.ReasonHeld, dibs.ReasonInUse, dibs.ReasonSuspect, dibs.ReasonQuarantined, dibs.ReasonReservedWord,
			dibs.ReasonInvalid, dibs.ReasonConfusable),
		[]string{"Problem.reason", "Failure.reason", "Availability.reason", "OneAvailability.reason"},
	},
	{
		"EventKind", "What happened.",
		texts(dibs.EventReserved, dibs.EventExtended, dibs.EventConfirmed, dibs.EventClaimed, dibs.EventReleased, dibs.EventExpired,
			dibs.EventSuspected, dibs.EventDemoted, dibs.EventRevived, dibs.EventRespelled, dibs.EventGivenUp, dibs.EventUnlocked,
			dibs.EventTransferred, dibs.EventMoved, dibs.EventForgotten, dibs.EventArchived, dibs.EventRestored, dibs.EventDeleted),
		[]string{"Event.kind", "Webhook.kinds"},
	},
	{
		"Code", "The kind of a problem, for programs. A later version of the server may have more.",
		slices.Concat(texts(dibs.CodeNameTaken, dibs.CodeNotFound, dibs.CodeLost, dibs.CodeAlreadyExpired, dibs.CodeAlreadyConfirmed,
			dibs.CodeAlreadyReleased, dibs.CodeEntityNotFound, dibs.CodeEntityHasName, dibs.CodeEntityArchived, dibs.CodeNotOwner,
			dibs.CodeVersionMismatch, dibs.CodeInvalidValue, dibs.CodeReservedWord, dibs.CodeInvalidNamespace, dibs.CodeInvalidToken,
			dibs.CodeInvalidEntity, dibs.CodeInvalidTTL, dibs.CodeTTLTooLong, dibs.CodeTooLarge, dibs.CodeTooManyHolds,
			dibs.CodeOutcomeUnknown, dibs.CodeUnavailable), ownCodes),
		[]string{"Problem.code", "Failure.code"},
	},
}

// ownCodes are the codes of the server, for what the library does not know.
var ownCodes = []string{
	"INVALID_REQUEST", "INVALID_CURSOR", "INVALID_WEBHOOK", "TOO_MANY_WEBHOOKS", "WEBHOOK_NOT_FOUND", "DEAD_LETTER_NOT_FOUND", "EVENT_PURGED",
	"NO_WEBHOOKS", "WEBHOOK_DECLARED", "INVALID_KEY", "KEY_NAME_TAKEN", "KEY_NOT_FOUND", "KEY_DECLARED", "LAST_KEY", "VALUE_IN_URL", "UNAUTHORIZED", "FORBIDDEN", "GONE", "MOVED", "NOT_FOUND", "METHOD_NOT_ALLOWED", "TOO_MANY_REQUESTS",
	"BODY_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "NOT_ACCEPTABLE", "REQUEST_TIMEOUT", "CROSS_ORIGIN", "KEY_NEEDED", "INTERNAL",
}

// nameEnums gives the texts with fixed values in responses a schema each. Those of requests stay
// as they are: their checks have messages of their own.
func nameEnums(schemas map[string]*huma.Schema) {
	for _, e := range enums {
		schema := &huma.Schema{Type: huma.TypeString, Description: e.description}
		for _, v := range e.values {
			schema.Enum = append(schema.Enum, v)
		}
		for _, path := range e.members {
			object, member, _ := strings.Cut(path, ".")
			text := schemas[object].Properties[member]
			if text.Items != nil {
				text = text.Items
			}
			*text = huma.Schema{Ref: "#/components/schemas/" + e.name, Description: text.Description}
		}
		schemas[e.name] = schema
	}
}
