package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/wire"
)

// keysCommand returns the commands about API keys.
func (s *session) keysCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "keys",
		GroupID: groupOperate,
		Short:   "Make, list and revoke the API keys of a server",
		Long: `Make, list and revoke the API keys of a server.

Keys are stored with the names, so these commands need the store itself (--store). A
server without any key listens only on this machine. A key's name is the principal in
events and the owner of its holds.`,
	}, s.keysCreate(), s.keysList(), s.keysRevoke())
}

func (s *session) keysCreate() *cobra.Command {
	var (
		may, in []string
		until   time.Time
	)
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a key and print its secret, once",
		Long: `Make a key and print its secret, once.

--may takes verbs and groups of verbs: ` + access.Join(access.Groups()) + `.
--in takes namespaces: '*' means all, 'acme.*' those of the scope acme, 'acme.slug' only that one.`,
		Example: indent(`dibs keys create checkout --may read,hold --in slug --store sqlite:dibs.db
dibs keys create acme --may read,hold,own --in 'acme.*' --until 2027-01-01 --store sqlite:dibs.db`),
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		grant := access.Grant{Namespaces: in}
		for _, v := range may {
			grant.Verbs = append(grant.Verbs, access.Verb(v))
		}
		wanted := auth.Key{Name: args[0], Grants: []access.Grant{grant}, ExpiresAt: until}
		if err := wanted.Validate(); err != nil {
			return usage("%w", err)
		}
		if !until.IsZero() && !until.After(s.Now()) {
			return usage("--until is %s, which is in the past", date(until))
		}
		return s.onKeys(cmd.Context(), func(keys *auth.KeyStore) (*answer, error) {
			key, secret, err := keys.Create(cmd.Context(), wanted)
			if err != nil {
				return nil, err
			}
			return &answer{shownKey{keyOf(key), secret}, func(p *printer) {
				p.line("%s", secret)
				p.line("")
				p.line("This secret is shown only once. Send it in the header of requests:")
				p.line("  Authorization: Bearer %s", secret)
			}}, nil
		})
	}
	cmd.Flags().StringSliceVar(&may, "may", nil, "the allowed `verbs` and groups")
	cmd.Flags().StringSliceVar(&in, "in", nil, "the `namespaces` in which they are allowed")
	timeVar(cmd, &until, "until", "when it expires (default: never)")
	must(cmd.MarkFlagRequired("may"))
	must(cmd.MarkFlagRequired("in"))
	return cmd
}

func (s *session) keysList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the keys, without their secrets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.onKeys(cmd.Context(), func(keys *auth.KeyStore) (*answer, error) {
				list, err := keys.List(cmd.Context())
				if err != nil {
					return nil, err
				}
				documents := make([]keyDocument, len(list))
				rows := make([][]string, len(list))
				for i, k := range list {
					documents[i] = keyOf(k)
					rows[i] = []string{k.Name, k.Prefix, grants(k.Grants), date(k.CreatedAt), date(k.ExpiresAt)}
				}
				return &answer{map[string]any{"keys": documents}, func(p *printer) {
					p.list("No keys.", []string{"name", "prefix", "may", "created", "until"}, rows)
				}}, nil
			})
		},
	}
}

func (s *session) keysRevoke() *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use: "revoke NAME", Short: "Revoke a key", Args: cobra.ExactArgs(1),
		Long: "Revoke a key.\n\nA server that has just used it may accept it for five more seconds.",
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return s.onKeys(cmd.Context(), func(keys *auth.KeyStore) (*answer, error) {
			list, err := keys.List(cmd.Context())
			if err != nil {
				return nil, err
			}
			if len(list) == 1 && list[0].Name == args[0] && !open {
				return nil, usage("without the last key every program on this machine could use the server: make another key first, or add --open")
			}
			if err := keys.Revoke(cmd.Context(), args[0]); err != nil {
				return nil, err
			}
			return &answer{map[string]string{"revoked": args[0]}, func(p *printer) { p.line("%s is revoked", args[0]) }}, nil
		})
	}
	cmd.Flags().BoolVar(&open, "open", false, "revoke even the last key: a server that starts after that requires no key")
	return cmd
}

// onKeys opens the keys of a store, runs the work, and prints the answer.
func (s *session) onKeys(ctx context.Context, work func(*auth.KeyStore) (*answer, error)) error {
	target, err := s.storeTarget()
	if err != nil {
		return err
	}
	if target.Store == "mem:" {
		return usage("keys in memory are lost when the command ends: use another --store")
	}
	store, err := engine.OpenDefaultStore(ctx, target.Store)
	if err != nil {
		return err
	}
	answer, err := work(auth.NewKeyStore(store))
	return s.closeAndPrint(store.Close, answer, err)
}

// keyDocument is the JSON of a key.
type keyDocument struct {
	Name      string         `json:"name"`
	Prefix    string         `json:"prefix"`
	Grants    []access.Grant `json:"grants"`
	CreatedAt string         `json:"createdAt"`
	ExpiresAt string         `json:"expiresAt,omitempty"`
}

// shownKey is the JSON of a new key with its secret.
type shownKey struct {
	keyDocument
	Secret string `json:"secret"`
}

func keyOf(k auth.Key) keyDocument {
	return keyDocument{k.Name, k.Prefix, k.Grants, wire.FormatTime(k.CreatedAt), wire.FormatTime(k.ExpiresAt)}
}

// grants formats grants: "read, hold in slug".
func grants(list []access.Grant) string {
	texts := make([]string, len(list))
	for i, g := range list {
		texts[i] = access.Join(g.Verbs) + " in " + strings.Join(g.Namespaces, ", ")
	}
	return strings.Join(texts, "; ")
}
