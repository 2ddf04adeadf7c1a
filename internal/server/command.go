package server

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
	"github.com/calldibs/dibs/internal/wire"
)

// commandType is what the server knows about one type of command.
type commandType struct {
	// register adds the command's own call to the API. Nil means that only lists can have it.
	register func(s *Server, op string)
	// allow refuses the command to a caller without the right, as far as the command itself says
	// where it acts. If it names a reservation, the registry decides: only the record has the
	// namespace.
	allow func(s *Server, ctx context.Context, c dibs.Command) error
	// names returns how many names the command counts as. Nil means one.
	names func(c dibs.Command) int
}

const (
	entityPath      = "/v1/entities/{type}/{id}"
	reservationPath = "/v1/reservations/{reservationId}"
	namePath        = "/v1/names/{namespace}/{value}"
)

// commandTypes returns all types of command, by [dibs.Command.Op].
func commandTypes() map[string]commandType {
	return map[string]commandType{
		"reserve": {
			register: postRoute("/v1/reservations", "Hold a name for a limited time", tagReservations, (*Server).reserve, 201, 409, 422),
			allow:    inNamespace(func(c dibs.Reserve) string { return c.Namespace }),
		},
		"reserveAll": {
			register: postRoute("/v1/reservations/batch", "Hold several names, all of them or none", tagReservations, (*Server).reserveAll, 201, 409, 422),
			allow: func(s *Server, ctx context.Context, c dibs.Command) error {
				for _, r := range c.(dibs.ReserveAll).Reservations {
					if err := s.may(ctx, access.Reserve, r.Namespace); err != nil {
						return err
					}
				}
				return nil
			},
			names: func(c dibs.Command) int { return len(c.(dibs.ReserveAll).Reservations) },
		},
		"reserveFirst": {
			register: postRoute("/v1/reservations/first", "Hold the first candidate that is available", tagReservations, (*Server).reserveFirst, 201, 409, 422),
			allow:    inNamespace(func(c dibs.ReserveFirst) string { return c.Namespace }),
			names:    func(c dibs.Command) int { return len(c.(dibs.ReserveFirst).Values) },
		},
		"extend":  onReservation("/extend", "Move the end of a hold", (*Server).extend),
		"confirm": onReservation("/confirm", "Make a held name an entity's", (*Server).confirm),
		"release": onReservation("/release", "Release a hold", (*Server).release),
		"settle":  onReservation("/settle", "End a suspect", (*Server).settle),
		"claim": {
			register: postRoute("/v1/claims", "Take a free name for an entity at once", tagNames, (*Server).claim, 201, 409, 422),
			allow:    inNamespace(func(c dibs.Claim) string { return c.Namespace }),
		},
		"rename": {
			register: route(http.MethodPut, entityPath+"/names/{namespace}", "Give an entity another name, or its first", tagEntities, (*Server).rename, 409, 412, 422),
			allow:    inNamespace(func(c dibs.Rename) string { return c.Namespace }),
		},
		"archive": {
			register: postRoute(entityPath+"/archive", "Keep every name of an entity, and resolve none", tagEntities, (*Server).archive, 404, 422),
			allow:    inScope(func(c dibs.Archive) string { return c.Scope }),
		},
		"restore": {
			register: postRoute(entityPath+"/restore", "Undo an archive", tagEntities, (*Server).restore, 404, 422),
			allow:    inScope(func(c dibs.Restore) string { return c.Scope }),
		},
		"delete": {
			register: route(http.MethodDelete, entityPath, "Give up every name of an entity", tagEntities, (*Server).deleteEntity, 404, 422),
			allow:    inScope(func(c dibs.Delete) string { return c.Scope }),
		},
		"decommission": {
			register: postRoute(namePath+"/decommission", "Give up one name of an entity", tagNames, (*Server).decommission, 404, 422),
			allow:    inNamespace(func(c dibs.Decommission) string { return c.Namespace }),
		},
		"transfer": {
			register: postRoute(namePath+"/transfer", "Give one name of an entity to another", tagNames, (*Server).transfer, 404, 409, 422),
			allow:    inNamespace(func(c dibs.Transfer) string { return c.Namespace }),
		},
		"swap": {
			register: postRoute("/v1/swap", "Let two entities exchange names", tagNames, (*Server).swap, 409, 422),
			allow:    inNamespace(func(c dibs.Swap) string { return c.Namespace }),
		},
		"rekey": {
			allow: inNamespace(func(c dibs.Rekey) string { return c.Namespace }),
		},
	}
}

// registerCommands adds the commands' own calls to the API.
func (s *Server) registerCommands() {
	for _, op := range slices.Sorted(maps.Keys(s.commands)) {
		if register := s.commands[op].register; register != nil {
			register(s, op)
		}
	}
}

// route returns a function that registers the call of a command. The operation's id is the op.
func route[I, O any](method, path, summary, tag string, handle func(*Server, context.Context, *I) (*O, error), statuses ...int) func(*Server, string) {
	return func(s *Server, op string) {
		register(s, s.operation(method, path, op, summary, tag, statuses...), func(ctx context.Context, in *I) (*O, error) { return handle(s, ctx, in) })
	}
}

func postRoute[I, O any](path, summary, tag string, handle func(*Server, context.Context, *I) (*O, error), statuses ...int) func(*Server, string) {
	return route(http.MethodPost, path, summary, tag, handle, statuses...)
}

// inNamespace demands the command's right in the namespace that it names.
func inNamespace[C dibs.Command](namespace func(C) string) func(*Server, context.Context, dibs.Command) error {
	return func(s *Server, ctx context.Context, c dibs.Command) error {
		return s.may(ctx, access.VerbOf(c), namespace(c.(C)))
	}
}

// inScope demands the command's right in the whole scope that it names.
func inScope[C dibs.Command](scope func(C) string) func(*Server, context.Context, dibs.Command) error {
	return func(s *Server, ctx context.Context, c dibs.Command) error {
		return s.mayInScope(ctx, access.VerbOf(c), scope(c.(C)))
	}
}

// onReservation returns the type of a command on a reservation, which demands the command's
// rights in at least one namespace.
func onReservation[I, O any](path, summary string, handle func(*Server, context.Context, *I) (*O, error)) commandType {
	return commandType{
		register: postRoute(reservationPath+path, summary, tagReservations, handle, 404, 409, 422),
		allow: func(s *Server, ctx context.Context, c dibs.Command) error {
			return s.maySomewhere(ctx, access.VerbsOf(c)...)
		},
	}
}

// mayApply refuses a command that the caller has no right to. A command that is not in the
// table is forbidden to every caller.
func (s *Server) mayApply(ctx context.Context, c dibs.Command) error {
	if allow := s.commands[c.Op()].allow; allow != nil {
		return allow(s, ctx, c)
	}
	return s.forbidden(access.Verb(c.Op()), "here")
}

// run applies one command for the caller.
func (s *Server) run(ctx context.Context, c dibs.Command) (dibs.Result, error) {
	if err := s.mayApply(ctx, c); err != nil {
		return dibs.Result{}, err
	}
	results, err := s.runAll(ctx, false, c)
	if err != nil {
		return dibs.Result{}, err
	}
	return results[0], nil
}

// runAll applies commands that the caller has the rights to, within the caller's limits.
func (s *Server) runAll(ctx context.Context, dryRun bool, commands ...dibs.Command) ([]dibs.Result, error) {
	if p := s.chargeCommands(infoOf(ctx), commands, dryRun); p != nil {
		return nil, p
	}
	registry := s.registry(ctx)
	apply := registry.Apply
	if dryRun {
		apply = registry.DryRun
	}
	return apply(ctx, commands...)
}

// runForName applies a command about one name, and answers with the name.
func (s *Server) runForName(ctx context.Context, c dibs.Command) (*answer[wire.Name], error) {
	result, err := s.run(ctx, c)
	if err != nil {
		return nil, err
	}
	return ok(wire.ResultOf(result).Names[0]), nil
}

func (s *Server) registerApply() {
	op := s.operation(http.MethodPost, "/v1/apply", "apply", "Apply commands, all of them or none", "Commands", 404, 409, 412, 422)
	register(s, op, s.apply)
}

type applyInput struct {
	Body struct {
		DryRun   bool           `json:"dryRun,omitempty" doc:"Only say what would be done."`
		Commands []wire.Command `json:"commands" nullable:"false" doc:"1 to 32. Each command sees what those before it did."`
	}
}

// maxCommands is how many commands a list may have.
const maxCommands = 32

type applied struct {
	DryRun  bool          `json:"dryRun"`
	Results []wire.Result `json:"results" nullable:"false"`
}

func (s *Server) apply(ctx context.Context, in *applyInput) (*answer[applied], error) {
	if n := len(in.Body.Commands); n > maxCommands { // before any command is decoded
		return nil, newProblem(http.StatusUnprocessableEntity, string(dibs.CodeTooLarge),
			fmt.Sprintf("%d commands in one list, more than the %d allowed", n, maxCommands))
	}
	commands := make([]dibs.Command, len(in.Body.Commands))
	for i, c := range in.Body.Commands {
		command, err := c.Command()
		if err != nil {
			return nil, s.invalidCommand(i, err)
		}
		if err := s.mayApply(ctx, command); err != nil {
			return nil, err
		}
		commands[i] = command
	}
	results, err := s.runAll(ctx, in.Body.DryRun, commands...)
	return ok(applied{in.Body.DryRun, wire.ListOf(results, wire.ResultOf)}), err
}

// invalidCommand says which command of a list is not valid.
func (s *Server) invalidCommand(i int, err error) *problem {
	p := s.problemOf(err)
	p.Detail = fmt.Sprintf("command %d: %s", i+1, p.Detail)
	p.Errors = []wire.Failure{{Index: &i, Location: fmt.Sprintf("body.commands[%d]", i), Code: p.Code, Detail: p.Detail}}
	return p
}
