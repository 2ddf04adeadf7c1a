package coretest

import "github.com/calldibs/dibs"

// CellCodes are the short names of the errors in the tables.
var CellCodes = map[dibs.Code]string{
	dibs.CodeNameTaken:        "TAKEN",
	dibs.CodeNotFound:         "NOTFOUND",
	dibs.CodeLost:             "LOST",
	dibs.CodeAlreadyExpired:   "EXPIRED",
	dibs.CodeAlreadyConfirmed: "CONFIRMED",
	dibs.CodeAlreadyReleased:  "RELEASED",
	dibs.CodeEntityNotFound:   "NOENTITY",
	dibs.CodeEntityHasName:    "HASNAME",
	dibs.CodeEntityArchived:   "ARCHIVED",
	dibs.CodeNotOwner:         "NOTOWNER",
	dibs.CodeInvalidToken:     "TOKEN",
}

func ReserveFor(ns, token string, entity dibs.Entity) dibs.Reserve {
	r := Reserve(ns, "x", token)
	r.Entity = entity
	return r
}
