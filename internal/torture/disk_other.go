//go:build !linux

package torture

import "errors"

type disk struct{ path string }

func newDisk(*run) (*disk, error) {
	return nil, errors.New("only Linux can mount a disk of their own")
}

func (*disk) fill() error            { return nil }
func (*disk) empty() error           { return nil }
func (*disk) setReadOnly(bool) error { return nil }
