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
	// place as its data, which may be the text of a [Fence]. Fencing again changes the place. Callers
	// are told its first line.
	Fence(ctx context.Context, place string) error
	// Unfence allows commits again.
	Unfence(ctx context.Context) error
}

// Fence is what the fence of a copied registry says.
type Fence struct {
	Place string // where the registry is now, for callers
	To    string // the same for operators: the address of the store; empty if it is not known
	Copy  string // the id of the copy that has fenced it; empty if it is not known
	// Finished says that the copy may have given out names: the fence must stay for ever.
	Finished bool
}

const fenceFinished = "finished"

// String returns the text of a fence, for [Fencer.Fence]: a line each.
func (f Fence) String() string {
	lines := []string{f.Place, f.To, f.Copy}
	if f.Finished {
		lines = append(lines, fenceFinished)
	}
	return strings.Join(lines, "\n")
}

// ParseFence returns the fence with a text.
func ParseFence(text string) (f Fence) {
	var last string
	f.Place, text, _ = strings.Cut(text, "\n")
	f.To, text, _ = strings.Cut(text, "\n")
	f.Copy, last, _ = strings.Cut(text, "\n")
	f.Finished = last == fenceFinished
	return f
}

// Moved returns the error for a registry that takes no more commits, because it has moved to
// another place; see [Fencer]. It has only the first line of the place: callers see it.
func Moved(place string) *dibs.Error {
	cause := "this registry has moved to " + ParseFence(place).Place
	return &dibs.Error{Code: dibs.CodeUnavailable, Message: cause + ": nothing happened; use it there", Cause: dibs.Cause(cause)}
}

// FenceRef is the address of an engine's fence, see [Fencer].
var FenceRef = dibs.Ref{Kind: KindFence, ID: dibs.ID{'f', 'e', 'n', 'c', 'e'}}

// NewFence returns the fence of an engine whose registry has moved to a place.
func NewFence(place string) *dibs.Document {
	return &dibs.Document{Kind: FenceRef.Kind, ID: FenceRef.ID, Rev: 1, Label: "fence", Data: []byte(place)}
}

// Place returns the place of a fence, as it was given to [Fencer.Fence]; empty if the record is none.
func Place(fence dibs.Record) string {
	if d, ok := fence.(*dibs.Document); ok && d.Ref() == FenceRef {
		return string(d.Data)
	}
	return ""
}
