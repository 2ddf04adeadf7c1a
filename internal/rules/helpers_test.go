package rules_test

import (
	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/coretest"
)

// checkOne returns the answer of Check about one value, with up to three suggestions.
func checkOne(f *coretest.Fixture, namespace, value string) dibs.Availability {
	f.T.Helper()
	answers, err := f.Check(f.Ctx, dibs.CheckRequest{Namespace: namespace, Values: []string{value}, Suggest: 3})
	if err != nil {
		f.T.Fatal(err)
	}
	return answers[0]
}

// confusable checks that commands are refused because of a look-alike.
func confusable(f *coretest.Fixture, commands ...dibs.Command) {
	f.T.Helper()
	e := f.Refused(dibs.ErrNameTaken, commands...)
	if e.Reason != dibs.ReasonConfusable {
		f.T.Errorf("%s: the reason is %q", e.Message, e.Reason)
	}
}

// documents returns the stored documents of a kind.
func documents(f *coretest.Fixture, kind dibs.Kind) (docs []*dibs.Document) {
	f.T.Helper()
	for _, r := range f.Records(kind) {
		docs = append(docs, r.(*dibs.Document))
	}
	return docs
}

// damage overwrites a document with data that cannot be read.
func damage(f *coretest.Fixture, doc *dibs.Document) {
	f.T.Helper()
	damaged := *doc
	damaged.Rev, damaged.Data = doc.Rev+1, []byte(`{"epoch":7,"re`)
	outcomes, err := f.Engine.Commit(f.Ctx, []dibs.Group{{
		Reads: []dibs.Read{{Ref: doc.Ref(), Rev: doc.Rev}}, Writes: []dibs.Write{{Record: &damaged}},
	}})
	if err != nil || outcomes[0] != dibs.Committed {
		f.T.Fatal(outcomes, err)
	}
}

// versionOf returns an entity's version.
func versionOf(f *coretest.Fixture, entity dibs.Entity) uint64 {
	f.T.Helper()
	info, err := f.Entity(f.Ctx, "", entity)
	if err != nil {
		f.T.Fatal(err)
	}
	return info.Version
}

// lastRev returns the revision of a name's newest event.
func lastRev(f *coretest.Fixture, namespace, value string) uint64 {
	f.T.Helper()
	events, err := f.History(f.Ctx, namespace, value)
	if err != nil || len(events) == 0 {
		f.T.Fatal(err, "no events")
	}
	return events[len(events)-1].Rev
}
