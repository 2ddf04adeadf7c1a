package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/auth"
	"github.com/calldibs/dibs/internal/wire"
)

const (
	tagKeys  = "Keys"
	keysPath = "/v1/keys"
	keyPath  = keysPath + "/{name}"
)

func (s *Server) registerKeys() {
	create := s.operation(http.MethodPost, keysPath, "createKey", "Make an API key", tagKeys, 201, 409, 422)
	create.Metadata = map[string]any{alwaysNew: true}
	register(s, create, s.createKey)
	register(s, s.operation(http.MethodGet, keysPath, "listKeys", "List API keys, without their secrets", tagKeys), s.listKeys)
	register(s, s.operation(http.MethodDelete, keyPath, "revokeKey", "Revoke an API key", tagKeys, 404, 409), s.revokeKey)
}

func (s *Server) createKey(ctx context.Context, in *struct{ Body wire.KeyRequest }) (*answer[wire.Key], error) {
	if err := s.maySomewhere(ctx, access.Keys); err != nil {
		return nil, err
	}
	wanted, err := keyFrom(in.Body)
	if err == nil {
		err = wanted.Validate()
	}
	if err == nil {
		err = s.mayGive(ctx, wanted)
	}
	if err != nil {
		return nil, err
	}
	wanted.CreatedBy = callerOf(ctx).Name
	made, secret, err := s.cfg.Keys.Create(ctx, wanted)
	if err != nil {
		return nil, err
	}
	s.logKey(ctx, "API key made", made)
	shown := keyOf(made)
	shown.Secret = secret
	return &answer[wire.Key]{http.StatusCreated, shown}, nil
}

// mayGive refuses a key with more rights than the caller has, or with the same ones for longer.
func (s *Server) mayGive(ctx context.Context, key auth.Key) error {
	caller := callerOf(ctx)
	if verb, pattern := caller.Lacks(key.Grants); verb != "" {
		return s.forbidden(verb, fmt.Sprintf("in %s, and so cannot give it to a key", pattern))
	}
	if until := caller.Until; !until.IsZero() && (key.ExpiresAt.IsZero() || key.ExpiresAt.After(until)) {
		s.cfg.Metrics.deny(access.Forbidden)
		detail := fmt.Sprintf("this caller's own key expires at %s: a key that it makes must expire by then; set expiresAt", wire.FormatTime(until))
		p := newProblem(http.StatusForbidden, "FORBIDDEN", detail)
		p.Field = "expiresAt"
		return p
	}
	return nil
}

func (s *Server) listKeys(ctx context.Context, _ *struct{}) (*answer[wire.KeyList], error) {
	if err := s.maySomewhere(ctx, access.Keys); err != nil {
		return nil, err
	}
	keys, err := s.cfg.Keys.List(ctx)
	if err != nil {
		return nil, err
	}
	list := wire.KeyList{Keys: []wire.Key{}}
	for _, key := range keys {
		if callerOf(ctx).MayManage(key.Grants) {
			list.Keys = append(list.Keys, keyOf(key))
		}
	}
	return ok(list), nil
}

type revokeKeyInput struct {
	Name string `path:"name"`
	Open bool   `query:"open" doc:"Revoke even the last key: a server on localhost that has no other way to sign in then requires none after its next start."`
}

func (s *Server) revokeKey(ctx context.Context, in *revokeKeyInput) (*answer[wire.Revoked], error) {
	if err := s.maySomewhere(ctx, access.Keys); err != nil {
		return nil, err
	}
	keys, err := s.cfg.Keys.List(ctx)
	if err != nil {
		return nil, err
	}
	key, err := s.keyFor(ctx, keys, in.Name)
	if err != nil {
		return nil, err
	}
	if len(keys) == 1 && key.DeclaredIn == "" && !in.Open {
		return nil, newProblem(http.StatusConflict, "LAST_KEY",
			"without the last key every program on this machine could use the server: make another key first, or set open")
	}
	if err := s.cfg.Keys.Revoke(ctx, in.Name); err != nil {
		return nil, err
	}
	s.logKey(ctx, "API key revoked", key)
	return ok(wire.Revoked{Revoked: in.Name}), nil
}

// keyFor returns the key with a name, one in the store before a declared one. A key that the
// caller may not manage does not exist for the caller.
func (s *Server) keyFor(ctx context.Context, keys []auth.Key, name string) (found auth.Key, err error) {
	err = fmt.Errorf("%w: %q", auth.ErrKeyNotFound, name)
	for _, key := range keys {
		switch {
		case key.Name != name || (err == nil && key.DeclaredIn != ""):
		case !callerOf(ctx).MayManage(key.Grants):
			s.cfg.Metrics.deny(access.Hidden)
			return auth.Key{}, fmt.Errorf("%w: %q", auth.ErrKeyNotFound, name)
		default:
			found, err = key, nil
		}
	}
	return found, err
}

// logKey logs who made or revoked a key.
func (s *Server) logKey(ctx context.Context, message string, key auth.Key) {
	s.cfg.Logger.Info(message, "key", key.Name, "prefix", key.Prefix, "by", cmp.Or(callerOf(ctx).Name, "anonymous"))
}

// keyFrom converts a request.
func keyFrom(r wire.KeyRequest) (key auth.Key, err error) {
	key = auth.Key{Name: r.Name, Grants: wire.ListOf(r.Grants, func(g wire.Grant) access.Grant {
		return access.Grant{Verbs: kindsAs[access.Verb](g.Verbs), Namespaces: g.Namespaces}
	})}
	if r.ExpiresAt != "" {
		if key.ExpiresAt, err = time.Parse(time.RFC3339, r.ExpiresAt); err != nil {
			err = &auth.InvalidKeyError{Field: "expiresAt", Problem: "expiresAt must be a time, such as 2027-03-01T00:00:00Z"}
		}
	}
	return key, err
}

// keyOf converts a key.
func keyOf(k auth.Key) wire.Key {
	return wire.Key{
		Name: k.Name, Prefix: k.Prefix, CreatedAt: wire.FormatTime(k.CreatedAt), CreatedBy: k.CreatedBy,
		ExpiresAt: wire.FormatTime(k.ExpiresAt), DeclaredIn: k.DeclaredIn,
		Grants: wire.ListOf(k.Grants, func(g access.Grant) wire.Grant {
			return wire.Grant{Verbs: kindsAs[string](g.Verbs), Namespaces: g.Namespaces}
		}),
	}
}

// keyProblem returns the problem for an error about API keys; nil for any other error.
func keyProblem(err error) *problem {
	if invalid, ok := errors.AsType[*auth.InvalidKeyError](err); ok {
		p := newProblem(http.StatusUnprocessableEntity, "INVALID_KEY", invalid.Problem)
		p.Field = invalid.Field
		return p
	}
	switch {
	case errors.Is(err, auth.ErrKeyNotFound):
		return newProblem(http.StatusNotFound, "KEY_NOT_FOUND", err.Error())
	case errors.Is(err, auth.ErrKeyNameTaken):
		p := newProblem(http.StatusConflict, "KEY_NAME_TAKEN", err.Error())
		p.Field = "name"
		return p
	case errors.Is(err, auth.ErrKeyDeclared):
		return newProblem(http.StatusConflict, "KEY_DECLARED", err.Error())
	default:
		return nil
	}
}
