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
	return s.group("keys", s.keysCreate(), s.keysList(), s.keysRevoke())
}

func (s *session) keysCreate() *cobra.Command {
	var (
		may, in []string
		until   time.Time
	)
	cmd := s.command("keys create", func(ctx context.Context, args []string) (*answer, error) {
		grant := access.Grant{Namespaces: in}
		for _, v := range may {
			grant.Verbs = append(grant.Verbs, access.Verb(v))
		}
		wanted := auth.Key{Name: args[0], Grants: []access.Grant{grant}, ExpiresAt: until}
		if err := wanted.Validate(); err != nil {
			return nil, usage("%w", err)
		}
		if !until.IsZero() && !until.After(s.Now()) {
			return nil, usage("--until is %s, which is in the past", date(until))
		}
		return s.withKeys(ctx, func(keys *auth.KeyStore) (*answer, error) {
			key, secret, err := keys.Create(ctx, wanted)
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
	})
	cmd.Long = strings.Replace(cmd.Long, "{groups}", access.Join(access.Groups()), 1)
	cmd.Flags().StringSliceVar(&may, "may", nil, "the allowed `verbs` and groups")
	cmd.Flags().StringSliceVar(&in, "in", nil, "the `namespaces` in which they are allowed")
	timeVar(cmd, &until, "until", "when it expires (default: never)")
	must(cmd.MarkFlagRequired("may"))
	must(cmd.MarkFlagRequired("in"))
	return cmd
}

func (s *session) keysList() *cobra.Command {
	return s.command("keys list", func(ctx context.Context, _ []string) (*answer, error) {
		return s.withKeys(ctx, func(keys *auth.KeyStore) (*answer, error) {
			return converted(func(list []auth.Key) map[string][]keyDocument {
				return map[string][]keyDocument{"keys": wire.ListOf(list, keyOf)}
			}, func(p *printer, list []auth.Key) {
				p.list("No keys.", []string{"name", "prefix", "may", "created", "until"}, wire.ListOf(list, func(k auth.Key) []string {
					return []string{k.Name, k.Prefix, grants(k.Grants), date(k.CreatedAt), date(k.ExpiresAt)}
				}))
			})(keys.List(ctx))
		})
	})
}

func (s *session) keysRevoke() *cobra.Command {
	var open, yes bool
	cmd := s.command("keys revoke", func(ctx context.Context, args []string) (*answer, error) {
		return s.withKeys(ctx, func(keys *auth.KeyStore) (*answer, error) {
			list, err := keys.List(ctx)
			if err != nil {
				return nil, err
			}
			if len(list) == 1 && list[0].Name == args[0] && !open {
				return nil, usage("without the last key every program on this machine could use the server: make another key first, or add --open")
			}
			if err := s.sure(yes, "This revokes the key "+args[0]+" for good: programs that use it are refused."); err != nil {
				return nil, err
			}
			if err := keys.Revoke(ctx, args[0]); err != nil {
				return nil, err
			}
			return &answer{map[string]string{"revoked": args[0]}, func(p *printer) { p.line("%s is revoked", args[0]) }}, nil
		})
	})
	cmd.Flags().BoolVar(&open, "open", false, "revoke even the last key: a server that starts after that requires no key")
	yesVar(cmd, &yes)
	return cmd
}

// withKeys opens the keys of a store for some work.
func (s *session) withKeys(ctx context.Context, work func(*auth.KeyStore) (*answer, error)) (_ *answer, err error) {
	target, err := s.storeTarget()
	if err != nil {
		return nil, err
	}
	if target.Store == "mem:" {
		return nil, usage("keys in memory are lost when the command ends: use another --store")
	}
	if err := target.mustExist(ctx, target.Store); err != nil {
		return nil, err
	}
	store, err := engine.OpenDefaultStore(ctx, target.Store)
	if err != nil {
		return nil, err
	}
	defer s.close(store, &err)
	return work(auth.NewKeyStore(store))
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
	return strings.Join(wire.ListOf(list, func(g access.Grant) string {
		return access.Join(g.Verbs) + " in " + join(g.Namespaces)
	}), "; ")
}
