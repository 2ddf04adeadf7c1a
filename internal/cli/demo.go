package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/demo"
)

func demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "demo",
		GroupID: groupOther,
		Short:   "Show the life of a name in a few seconds",
		Long: "Show the life of a name on a temporary SQLite file: a race, a payment, a stale\n" +
			"token, a rename, and a crash that a witness resolves. Nothing is left behind.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("the demo cannot find its own program to start a second process: %w", err)
			}
			return demo.Run(cmd.Context(), cmd.OutOrStdout(), []string{self, customerCommand})
		},
	}
}

// customerCommand is the second process of the demo, which is killed.
const customerCommand = "demo-customer"

func demoCustomerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    customerCommand + " FOLDER",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return demo.Customer(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
}
