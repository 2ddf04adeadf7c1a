package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/keys"
)

// keysCommand is the group of commands about API keys.
func (s *session) keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "keys",
		GroupID: groupOperate,
		Short:   "Make, list and revoke the API keys of a server",
		Long: `Make, list and revoke the API keys of a server.

Keys are kept with the names, so these work on the store itself (--store). A server
without any key listens on this machine alone. A key's name is the principal in
events, and what it holds is its own.`,
		Args: cobra.NoArgs, // so that a word that is no command is an error
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(s.keysCreate(), s.keysList(), s.keysRevoke())
	return cmd
}

func (s *session) keysCreate() *cobra.Command {
	var (
		may, in []string
		until   momentFlag
	)
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a key and print its secret, once",
		Long: `Make a key and print its secret, once.

--may takes verbs and groups of them: ` + verbNames(access.Groups()) + `.
--in takes namespaces: '*' is all of them, 'acme.*' all of the scope acme, 'acme.slug' that one.`,
		Example: indent(`dibs keys create checkout --may read,hold --in slug --store sqlite:dibs.db
dibs keys create acme --may read,hold,own --in 'acme.*' --until 2027-01-01 --store sqlite:dibs.db`),
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		grant := access.Grant{Namespaces: in}
		for _, v := range may {
			grant.Verbs = append(grant.Verbs, access.Verb(v))
		}
		wanted := keys.Key{Name: args[0], Grants: []access.Grant{grant}, ExpiresAt: until.Time}
		if err := wanted.Validate(); err != nil {
			return usage("%w", err)
		}
		if !until.IsZero() && !until.After(s.Now()) {
			return usage("--until is %s, which is over already", date(until.Time))
		}
		return s.onRing(cmd.Context(), func(ring *keys.Ring) (*answer, error) {
			key, secret, err := ring.Create(cmd.Context(), wanted)
			if err != nil {
				return nil, err
			}
			return &answer{shownKey{keyOf(key), secret}, func(p *page) {
				p.line("%s", secret)
				p.line("")
				p.line("This is the only time that it is shown. It goes into the header of requests:")
				p.line("  Authorization: Bearer %s", secret)
			}}, nil
		})
	}
	cmd.Flags().StringSliceVar(&may, "may", nil, "what it allows: `verbs` and groups")
	cmd.Flags().StringSliceVar(&in, "in", nil, "where: `namespaces`")
	cmd.Flags().Var(&until, "until", "when it ends; left out, never")
	must(cmd.MarkFlagRequired("may"))
	must(cmd.MarkFlagRequired("in"))
	return cmd
}

func (s *session) keysList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the keys, without their secrets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.onRing(cmd.Context(), func(ring *keys.Ring) (*answer, error) {
				list, err := ring.List(cmd.Context())
				if err != nil {
					return nil, err
				}
				document := keyList{Keys: make([]keyDocument, len(list))}
				rows := make([][]string, len(list))
				for i, k := range list {
					document.Keys[i] = keyOf(k)
					rows[i] = []string{k.Name, k.Prefix, grants(k.Grants), date(k.CreatedAt), date(k.ExpiresAt)}
				}
				return &answer{document, func(p *page) {
					if len(rows) == 0 {
						p.line("There are no keys.")
						return
					}
					p.table([]string{"name", "prefix", "may", "created", "until"}, rows)
				}}, nil
			})
		},
	}
}

func (s *session) keysRevoke() *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use: "revoke NAME", Short: "End a key for good", Args: cobra.ExactArgs(1),
		Long: "End a key for good.\n\nServers that have just seen it may accept it for five more seconds.",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return s.onRing(cmd.Context(), func(ring *keys.Ring) (*answer, error) {
			if err := mayRevoke(cmd.Context(), ring, args[0], open); err != nil {
				return nil, err
			}
			if err := ring.Revoke(cmd.Context(), args[0]); err != nil {
				return nil, err
			}
			return &answer{map[string]string{"revoked": args[0]}, func(p *page) { p.line("%s is revoked", args[0]) }}, nil
		})
	}
	cmd.Flags().BoolVar(&open, "open", false, "also the last key: a server that is started then needs none")
	return cmd
}

// mayRevoke refuses to revoke the last key unless that is what is meant.
func mayRevoke(ctx context.Context, ring *keys.Ring, name string, open bool) error {
	list, err := ring.List(ctx)
	if err != nil {
		return err
	}
	if len(list) == 1 && list[0].Name == name && !open {
		return usage("revoking the last key would open the server to everybody on this machine: make another key first, or say --open")
	}
	return nil
}

// onRing opens the keys of a store, does the work, and prints the answer.
func (s *session) onRing(ctx context.Context, work func(*keys.Ring) (*answer, error)) error {
	target, err := s.target()
	if err != nil {
		return err
	}
	if target.Store == "mem:" {
		return usage("keys in memory are gone at once: say another --store")
	}
	if target.Server != "" {
		return usage("keys are made where the names are: say --store")
	}
	if err := engine.Check(target.Store); err != nil {
		return usage("%w", err)
	}
	store, err := engine.OpenDefaultStore(ctx, target.Store)
	if err != nil {
		return err
	}
	answer, err := work(keys.NewRing(store))
	// What was done is done, and a secret is shown now or never.
	if closing := store.Close(); closing != nil && err == nil {
		fmt.Fprintf(s.Stderr, "dibs: closing: %v\n", closing)
	}
	s.print(answer, err)
	return err
}

type keyList struct {
	Keys []keyDocument `json:"keys"`
}

// keyDocument is a key for programs.
type keyDocument struct {
	Name      string         `json:"name"`
	Prefix    string         `json:"prefix"`
	Grants    []access.Grant `json:"grants"`
	CreatedAt string         `json:"createdAt"`
	ExpiresAt string         `json:"expiresAt,omitempty"`
}

// shownKey is a key with its secret, as it is shown once.
type shownKey struct {
	keyDocument
	Secret string `json:"secret"`
}

func keyOf(k keys.Key) keyDocument {
	return keyDocument{k.Name, k.Prefix, k.Grants, exactDate(k.CreatedAt), exactDate(k.ExpiresAt)}
}

// exactDate writes a moment as the API does; nothing for none.
func exactDate(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// grants writes grants for people: "read, hold in slug".
func grants(list []access.Grant) string {
	texts := make([]string, len(list))
	for i, g := range list {
		texts[i] = verbNames(g.Verbs) + " in " + strings.Join(g.Namespaces, ", ")
	}
	return strings.Join(texts, "; ")
}

func verbNames(verbs []access.Verb) string {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}
