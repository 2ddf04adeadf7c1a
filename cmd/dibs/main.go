// Command dibs is the command line of the registry of names.
package main

import (
	"os"

	"github.com/calldibs/dibs/internal/cli"
)

func main() {
	os.Exit(cli.Process{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
	}.Run())
}
