package dibsimport

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/embedded"
	"github.com/calldibs/dibs/sqlitestore"
)

// ScratchOf returns a scratch registry on a store, with the config of the registry that Run will
// use. It reads from the store and writes to a temporary file. The store stays open.
func ScratchOf(store dibs.Store, config dibs.Config) (*Scratch, error) {
	return newScratch(func(own dibs.Store) (*dibs.Registry, error) {
		config.SweepEvery = -1
		return embedded.Open(&layered{Store: own, base: store}, config)
	})
}

// ScratchOfServer returns a scratch registry for one behind a server. The server decides each name
// as if no other were imported; here the names are compared with each other by their canonical form
// alone. So names that only look alike, and second names of one entity, show when they are
// imported.
func ScratchOfServer(server *dibs.Registry) (*Scratch, error) {
	return newScratch(func(own dibs.Store) (*dibs.Registry, error) {
		local, err := embedded.Open(own, dibs.Config{Default: dibs.Policy{ManyPerEntity: true}, Policies: map[string]dibs.Policy{}, SweepEvery: -1})
		if err != nil {
			return nil, err
		}
		return dibs.NewRegistry(&judged{Backend: dibs.FailingBackend(dibs.ErrUnsupported), server: server, local: local}), nil
	})
}

func newScratch(open func(own dibs.Store) (*dibs.Registry, error)) (*Scratch, error) {
	folder, err := os.MkdirTemp("", "dibs-plan-*")
	if err != nil {
		return nil, inTempDir(err)
	}
	file := filepath.Join(folder, "plan.db") // which is never published
	own, err := sqlitestore.Create(context.Background(), file, sqlitestore.Config{})
	if errors.Is(err, errors.ErrUnsupported) {
		own, err = sqlitestore.Open(context.Background(), file, sqlitestore.Config{})
	}
	if err != nil {
		_ = os.RemoveAll(folder)
		return nil, inTempDir(err)
	}
	registry, err := open(own)
	if err != nil {
		_, _ = own.Close(), os.RemoveAll(folder)
		return nil, err
	}
	return &Scratch{registry, folder}, nil
}

// layered is a store that begins as a copy of another one. It copies a record when it is loaded
// first, and commits to its own store only.
type layered struct {
	dibs.Store // the own one
	base       dibs.Store
}

func (l *layered) Load(ctx context.Context, refs []dibs.Ref) (dibs.LoadResult, error) {
	own, err := l.Store.Load(ctx, refs)
	if err != nil || len(own.Records) == len(refs) {
		return own, err
	}
	there := make(map[dibs.ID]bool, len(own.Records))
	for _, record := range own.Records {
		there[record.Ref().ID] = true
	}
	var missing []dibs.Ref
	for _, ref := range refs {
		if !there[ref.ID] {
			missing = append(missing, ref)
		}
	}
	base, err := l.base.Load(ctx, missing)
	if err != nil {
		return own, err
	}
	if len(base.Records) == 0 {
		return own, nil
	}
	groups := make([]dibs.Group, len(base.Records))
	for i, record := range base.Records {
		groups[i] = dibs.Group{Reads: []dibs.Read{{Ref: record.Ref()}}, Writes: []dibs.Write{{Record: record, Was: dibs.Free}}}
		if record.Ref().Kind != dibs.KindName {
			groups[i].Writes[0].Was = ""
		}
	}
	if _, err := l.Commit(ctx, groups); err != nil {
		return own, err
	}
	own.Records = append(own.Records, base.Records...)
	return own, nil
}

// judged is a backend that asks a server about each name, and a local registry whether two names
// are one.
type judged struct {
	dibs.Backend
	server, local *dibs.Registry
}

func (j *judged) ImportAll(ctx context.Context, request dibs.ImportRequest) ([]dibs.Imported, error) {
	asked := dibs.ImportRequest{Imports: make([]dibs.Import, len(request.Imports)), DryRun: true}
	for i, row := range request.Imports {
		row.AliasOf, row.CorrelationID = "", "" // the active name is not there yet
		asked.Imports[i] = row
	}
	answers, err := j.server.ImportAll(ctx, asked)
	if err != nil {
		return nil, err
	}
	var accepted []int
	local := dibs.ImportRequest{}
	for i, answer := range answers {
		row := request.Imports[i]
		if answer.Err != nil && answer.Err.Code == dibs.CodeEntityHasName && row.AliasOf != "" {
			answers[i].Err = nil // an alias is no second active name; its value is compared as it is written
			answer.Name.Canonical = row.Value
		} else if answer.Err != nil {
			continue
		}
		row.Value, row.AliasOf, row.OverrideReserved = answer.Name.Canonical, "", false
		accepted, local.Imports = append(accepted, i), append(local.Imports, row)
	}
	if len(accepted) == 0 {
		return answers, nil
	}
	compared, err := j.local.ImportAll(ctx, local)
	for n, i := range accepted {
		if err == nil && compared[n].Err != nil {
			answers[i].Err = compared[n].Err
		}
	}
	return answers, err
}

// Get finds the row that has a name, by the canonical form that the server says.
func (j *judged) Get(ctx context.Context, lookup dibs.Lookup) (dibs.Name, error) {
	answers, err := j.server.Check(ctx, dibs.CheckRequest{Namespace: lookup.Namespace, Values: []string{lookup.Value}})
	if err != nil {
		return dibs.Name{}, err
	}
	lookup.Value = answers[0].Canonical
	return j.local.Get(ctx, lookup)
}

// Apply archives: nothing that a plan says depends on it.
func (j *judged) Apply(context.Context, dibs.ApplyRequest) ([]dibs.Result, error) {
	return []dibs.Result{{}}, nil
}

func (j *judged) Close() error { return j.local.Close() }
