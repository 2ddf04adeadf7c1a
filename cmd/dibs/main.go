// Command dibs is the registry of names: today its demonstration.
package main

import (
	"os"

	"github.com/calldibs/dibs/internal/cli"
)

func main() { os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr)) }
