package sqlrow_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/sqlrow"
)

func TestListClauses(t *testing.T) {
	t.Parallel()
	after := &dibs.ListPosition{Namespace: "slug", Label: "m"}
	for _, c := range []struct {
		query dibs.ListQuery
		text  string
		args  []any
	}{
		{dibs.ListQuery{Kind: dibs.KindName}, "", nil},
		{
			dibs.ListQuery{Kind: dibs.KindName, After: after, From: "a"},
			" WHERE canonical >= $1 AND (namespace, canonical) > ($2, $3)",
			[]any{"a", "slug", "m"},
		},
		{ // only the higher one of the two lower bounds
			dibs.ListQuery{Kind: dibs.KindName, Namespace: "slug", After: after, From: "a", To: "z"},
			" WHERE namespace = $1 AND canonical > $2 AND canonical < $3",
			[]any{"slug", "m", "z"},
		},
		{ // the whole namespace follows
			dibs.ListQuery{Kind: dibs.KindName, Namespace: "tag", After: after},
			" WHERE namespace = $1",
			[]any{"tag"},
		},
		{ // nothing follows
			dibs.ListQuery{Kind: dibs.KindName, Namespace: "email", After: after},
			" WHERE namespace = $1 AND false",
			[]any{"email"},
		},
		{
			dibs.ListQuery{Kind: dibs.KindName, States: []dibs.State{dibs.Held, dibs.Active, dibs.Held}},
			" WHERE state IN ($1, $2)",
			[]any{"active", "held"},
		},
		{
			dibs.ListQuery{Kind: dibs.KindTally, After: after, From: "n"},
			" WHERE kind = $1 AND label >= $2",
			[]any{"tally", "n"},
		},
	} {
		order := " ORDER BY namespace, canonical LIMIT $"
		if c.query.Kind != dibs.KindName {
			order = " ORDER BY label LIMIT $"
		}
		c.query.Limit = 10
		want, args := c.text+order+string(rune('1'+len(c.args))), slices.Concat(c.args, []any{int64(10)})
		if got, gotArgs := sqlrow.ListClauses(c.query, "$"); got != want || !reflect.DeepEqual(gotArgs, args) {
			t.Errorf("%+v:\n%s %v\nwant\n%s %v", c.query, got, gotArgs, want, args)
		}
	}
}
