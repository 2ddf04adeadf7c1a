package record

import (
	"context"
	"strings"

	"github.com/calldibs/dibs"
)

// KindFence is the kind of the document that says where a registry has moved.
const KindFence dibs.Kind = "fence"

// Fencer is an optional interface of engines that can refuse all commits, in every process, while
// their data moves to another engine.
type Fencer interface {
	// Fence makes every later Commit fail with [Moved], whichever process or caller's transaction
	// makes it. Commits in progress end first, or never happen: once Fence has returned, records
	// and events no longer change. Reads go on. The fence is a document of [KindFence] with the
	// place as its data. Fencing again changes the place. Callers are told the first line of the
	// place; other lines are for operators.
	Fence(ctx context.Context, place string) error
	// Unfence allows commits again.
	Unfence(ctx context.Context) error
}

// Moved returns the error for a registry that takes no more commits, because it has moved to
// another place; see [Fencer]. It has only the first line of the place: callers see it.
func Moved(place string) *dibs.Error {
	told, _, _ := strings.Cut(place, "\n")
	cause := "this registry has moved to " + told
	return &dibs.Error{Code: dibs.CodeUnavailable, Message: cause + ": nothing happened; use it there", Cause: dibs.Cause(cause)}
}

// FenceRef is the address of an engine's fence, see [Fencer].
var FenceRef = dibs.Ref{Kind: KindFence, ID: dibs.ID{'f', 'e', 'n', 'c', 'e'}}

// NewFence returns the fence of an engine whose registry has moved to a place.
func NewFence(place string) *dibs.Document {
	return &dibs.Document{Kind: FenceRef.Kind, ID: FenceRef.ID, Rev: 1, Label: "fence", Data: []byte(place)}
}

// Place returns the place of a fence; empty if the record is none.
func Place(fence dibs.Record) string {
	if d, ok := fence.(*dibs.Document); ok && d.Ref() == FenceRef {
		return string(d.Data)
	}
	return ""
}
