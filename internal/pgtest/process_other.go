//go:build !unix

package pgtest

import (
	"errors"
	"syscall"
)

// The tests of other systems compile, but have no clusters: those need Unix sockets and signals.

type credential struct{ Uid, Gid uint32 }

func (h *home) detached() *syscall.SysProcAttr { return nil }

func kill(int) error { return errors.ErrUnsupported }
