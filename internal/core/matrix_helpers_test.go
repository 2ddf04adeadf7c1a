package core_test

import "github.com/calldibs/dibs"

// cellCodes are the short names of the errors in the tables.
var cellCodes = map[dibs.Code]string{
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

func reserveFor(ns, token string, entity dibs.Entity) dibs.Reserve {
	r := reserve(ns, "x", token)
	r.Entity = entity
	return r
}
