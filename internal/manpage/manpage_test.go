package manpage_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/manpage"
)

// tree returns some commands.
func tree() *cobra.Command {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "dibs", Short: "Manage names", Long: "Manage names.\n\nExit codes:\n  0  done\n  1  failed", Example: "  dibs demo"}
	root.AddGroup(&cobra.Group{ID: "use", Title: "Use:"})
	root.PersistentFlags().String("store", "", "open this `engine`")
	take := &cobra.Command{
		Use: "take NAME [VALUE]", GroupID: "use", Short: "Take a name", Run: run,
		Long: "Take a name. It is yours.\n.dot and \\ are no macros", Example: "  dibs take a-b\n  dibs take …",
	}
	take.Flags().Int("limit", 20, "how many")
	take.Flags().BoolP("force", "f", false, "do not ask")
	keys := &cobra.Command{Use: "keys", GroupID: "use", Short: "Manage keys", Run: run}
	keys.AddCommand(&cobra.Command{Use: "create NAME", Short: "Make a key", Run: run, Example: "  dibs keys create me"})
	secret := &cobra.Command{Use: "secret", Run: run, Hidden: true}
	root.AddCommand(take, keys, secret)
	return root
}

func pages() manpage.Pages {
	edition := manpage.Edition{Version: "0.1.0", Date: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	return manpage.New(tree(), "dibs.toml", "# Comment.\n#listen = \"\"\n", edition)
}

const takePage = `.Dd March 1, 2026
.Dt DIBS\-TAKE 1
.Os "Dibs 0.1.0"
.Sh NAME
.Nm dibs\-take
.Nd take a name
.Sh SYNOPSIS
.Nm dibs take
.Ar NAME
.Op Ar VALUE
.Op Ar options
.Sh DESCRIPTION
Take a name.
It is yours.
\&.dot and \e are no macros
.Sh OPTIONS
.Bl -tag -width Ds
.It Fl f , Fl \-force
do not ask
.It Fl \-limit Ar int
how many (default 20)
.El
.Sh EXAMPLES
.Bd -literal -offset indent
dibs take a\-b
dibs take \[u2026]
.Ed
.Sh SEE ALSO
.Xr dibs 1
has the options of all commands, and the exit codes.
`

func TestPages(t *testing.T) {
	t.Parallel()
	all := pages()
	if got := all["dibs-take.1"]; got != takePage {
		t.Errorf("got\n%s\nwant\n%s", got, takePage)
	}
	for name, want := range map[string][]string{
		"dibs.1":      {".Ss Use\n", ".It Xr dibs-take 1\nTake a name\n", "0  done\n", ".It Fl \\-store Ar engine\n"},
		"dibs-keys.1": {".Nm dibs keys create\n.Ar NAME\n", ".Ss keys create\nMake a key.\n", "dibs keys create me\n"},
		"dibs.toml.5": {"#listen = \"\"\n"},
	} {
		for _, text := range want {
			if !strings.Contains(all[name], text) {
				t.Errorf("%s does not contain %q:\n%s", name, text, all[name])
			}
		}
	}
	if len(all) != 4 {
		t.Errorf("%d pages, want those of dibs, take, keys and the file", len(all))
	}
}

// The formatter of this machine has nothing to say about the pages.
func TestPagesAreWellFormed(t *testing.T) {
	t.Parallel()
	formatter, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	for name, text := range pages() {
		cmd := exec.CommandContext(t.Context(), formatter, "-mdoc", "-ww", "-Tutf8", "-z")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
}
