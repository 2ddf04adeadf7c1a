//go:build !unix

package torture

import (
	"errors"
	"os/exec"
)

func detach(*exec.Cmd) {}

var errNoSignals = errors.New("this system cannot halt a process")

func (s *server) stop() error    { return errNoSignals }
func (s *server) proceed() error { return errNoSignals }
