//go:build !linux

package testdisk

import (
	"errors"

	"github.com/calldibs/dibs/internal/harness"
)

// Disk exists on Linux only.
type Disk struct{ Path string }

// New returns an error.
func New(harness.TB) (*Disk, error) {
	return nil, errors.New("only Linux can mount a disk of their own")
}

// Sync does nothing.
func (*Disk) Sync() error { return nil }

// LosePower does nothing.
func (*Disk) LosePower() error { return nil }

// Fill does nothing.
func (*Disk) Fill() error { return nil }

// Empty does nothing.
func (*Disk) Empty() error { return nil }

// SetReadOnly does nothing.
func (*Disk) SetReadOnly(bool) error { return nil }
