// Command dibs-demo is "dibs demo" alone: it needs no server and only one engine, so Go compiles it
// in half of the time, for those who have a clone and a minute.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/calldibs/dibs/internal/demo"
)

// customer makes this program the second process of the demo.
const customer = "demo-customer"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dibs-demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == customer {
		return demo.Customer(ctx, os.Stdout, args[1])
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the demo cannot find its own program to start a second process: %w", err)
	}
	return demo.Run(ctx, os.Stdout, []string{self, customer})
}
