package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/engine"
	"github.com/calldibs/dibs/internal/server"
	"github.com/calldibs/dibs/internal/wire"
)

// keysCommand returns the commands about API keys.
func (s *session) keysCommand() *cobra.Command {
	return s.group("keys", s.keysCreate(), s.keysList(), s.keysRevoke(), s.keysGenerate())
}

const keysPath = "/v1/keys"

func (s *session) keysCreate() *cobra.Command {
	var (
		may, in []string
		until   time.Time
	)
	check := func(name string) error {
		grant := access.Grant{Namespaces: in, Verbs: wire.ListOf(may, func(v string) access.Verb { return access.Verb(v) })}
		if err := (auth.Key{Name: name, Grants: []access.Grant{grant}}).Validate(); err != nil {
			return usage("%w", err)
		}
		if !until.IsZero() && !until.After(s.Now()) {
			return usage("--until is %s, which is in the past", date(until))
		}
		return nil
	}
	cmd := s.onKeys("keys create", check, func(ctx context.Context, a *api, name string) (*answer, error) {
		wanted := wire.KeyRequest{Name: name, Grants: []wire.Grant{{Verbs: may, Namespaces: in}}, ExpiresAt: wire.FormatTime(until)}
		return request(ctx, a, http.MethodPost, keysPath, wanted, func(p *printer, key wire.Key) {
			p.line("%s", key.Secret)
			p.line("")
			p.line("This secret is shown only once. Send it in the header of requests:")
			p.line("  Authorization: Bearer %s", key.Secret)
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
	return s.onKeys("keys list", nil, func(ctx context.Context, a *api, _ string) (*answer, error) {
		return request(ctx, a, http.MethodGet, keysPath, nil, func(p *printer, list wire.KeyList) {
			p.list("No keys.", []string{"name", "prefix", "may", "created", "by", "until", "declared in"},
				wire.ListOf(list.Keys, func(k wire.Key) []string {
					return []string{k.Name, k.Prefix, grants(k.Grants), shortDate(k.CreatedAt), k.CreatedBy, shortDate(k.ExpiresAt), k.DeclaredIn}
				}))
		})
	})
}

func (s *session) keysRevoke() *cobra.Command {
	var open, yes bool
	cmd := s.onKeys("keys revoke", nil, func(ctx context.Context, a *api, name string) (*answer, error) {
		if err := s.sure(yes, "This revokes the key "+name+" for good: programs that use it are refused."); err != nil {
			return nil, err
		}
		path := keysPath + "/" + url.PathEscape(name)
		if open {
			path += "?open=true"
		}
		shown, err := request(ctx, a, http.MethodDelete, path, nil, func(p *printer, r wire.Revoked) { p.line("%s is revoked", r.Revoked) })
		if failed, ok := errors.AsType[*apiError](err); ok && failed.problem.Code == "LAST_KEY" {
			err = usage("without the last key every program on this machine could use the server: make another key first, or add --open")
		}
		return shown, err
	})
	cmd.Flags().BoolVar(&open, "open", false, "revoke even the last key: a server that starts after that requires no key")
	yesVar(cmd, &yes)
	return cmd
}

// keysGenerate returns the command that makes the secret of a key in a configuration file.
func (s *session) keysGenerate() *cobra.Command {
	return s.command("keys generate", func(context.Context, []string) (*answer, error) {
		secret := auth.NewSecret()
		sum, err := auth.DigestOf(secret)
		if err != nil {
			return nil, err
		}
		return &answer{map[string]string{"secret": secret, "hash": sum.String()}, func(p *printer) {
			p.line("%s", secret)
			p.line("")
			p.line("This secret is shown only once, and stored nowhere. In the server's configuration:")
			p.line("  [[keys]]")
			p.line(`  name = "checkout"`)
			p.line("  hash = %q", sum)
			p.line(`  grants = [{ may = ["read", "hold"], in = "slug" }]`)
		}}, nil
	})
}

// onKeys returns a command that calls the API about keys: that of a server, or with --store that of
// one in this process. It needs neither policies nor the stores of routes. The check comes first.
func (s *session) onKeys(path string, check func(name string) error, do func(ctx context.Context, a *api, name string) (*answer, error)) *cobra.Command {
	return s.command(path, func(ctx context.Context, args []string) (_ *answer, err error) {
		name := strings.Join(args, "")
		if check != nil {
			if err := check(name); err != nil {
				return nil, err
			}
		}
		target, err := s.target()
		if err != nil {
			return nil, err
		}
		calls, opened, err := openKeys(ctx, target)
		if err != nil {
			return nil, err
		}
		defer s.close(opened, &err)
		return do(ctx, calls, name)
	})
}

// openKeys opens the API for keys, and what the caller has to close.
func openKeys(ctx context.Context, target Target) (*api, io.Closer, error) {
	if target.Server != "" {
		return openAPI(ctx, target)
	}
	if err := engine.Check(target.Store); err != nil {
		return nil, nil, usage("%w", err)
	}
	if target.Store == "mem:" {
		return nil, nil, usage("keys in memory are lost when the command ends: use another --store")
	}
	if err := target.mustExist(ctx, target.Store); err != nil {
		return nil, nil, err
	}
	store, err := engine.OpenDefaultStore(ctx, target.Store)
	if err != nil {
		return nil, nil, err
	}
	handler := server.New(server.Config{Store: store, RequestTimeout: apiTimeout})
	return &api{base: "http://localhost", client: &http.Client{Transport: inProcess{handler}}}, store, nil
}

// grants formats grants: "read, hold in slug".
func grants(list []wire.Grant) string {
	return strings.Join(wire.ListOf(list, func(g wire.Grant) string { return join(g.Verbs) + " in " + join(g.Namespaces) }), "; ")
}
