package record

import "github.com/calldibs/dibs"

// FenceRef is the address of an engine's fence, see [dibs.Fencer].
var FenceRef = dibs.Ref{Kind: dibs.KindFence, ID: dibs.ID{'f', 'e', 'n', 'c', 'e'}}

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
