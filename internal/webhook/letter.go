package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/calldibs/dibs"
	"github.com/calldibs/dibs/internal/access"
)

// Letter is a dead letter: an event that was given up after its receiver had failed for
// too long. The event stays where it is, in the feed.
type Letter struct {
	ID       string
	Hook     string
	Kind     dibs.EventKind
	Name     dibs.ID // zero for an event about an entity
	Where    string  // its namespace, or the scope of its entity
	EventAt  time.Time
	DeadAt   time.Time
	Attempts int
	// LastError is why the last attempt failed.
	LastError string

	after, cursor dibs.Cursor
}

// Covers reports whether a dead letter is of a namespace that the webhook is for. One from
// before it was narrowed is not: whoever may touch the webhook need not have the right to it.
func (h *Hook) Covers(l Letter) bool {
	if l.Name.IsZero() {
		return access.MatchScope(h.Namespaces, l.Where)
	}
	return access.Match(h.Namespaces, l.Where)
}

// letterContent is what the document of a dead letter holds.
type letterContent struct {
	Kind     dibs.EventKind `json:"kind"`
	Name     dibs.ID        `json:"name,omitzero"`
	Where    string         `json:"where,omitempty"`
	EventAt  dibs.Instant   `json:"eventAt"`
	DeadAt   dibs.Instant   `json:"deadAt"`
	Attempts int            `json:"attempts"`
	Error    string         `json:"error"`
	After    dibs.Cursor    `json:"after,omitempty"`
	Cursor   dibs.Cursor    `json:"cursor"`
}

type letterPage = page[letterContent]

// letterAt is where a dead letter is kept. Letters of a hook are listed in the order in
// which they were put there.
func letterAt(hook, id string) *letterPage {
	return &letterPage{kind: kindLetter, label: hook + "/" + id}
}

func letterID(number uint64) string { return fmt.Sprintf("dl_%012d", number) }

// box counts the dead letters of a hook.
type box struct {
	Last    uint64 `json:"last"`              // the number of the newest one
	Count   int    `json:"count"`             // how many there are
	Dropped int    `json:"dropped,omitempty"` // how many had to go, because there were too many
}

type boxPage = page[box]

func boxAt(hook string) *boxPage { return &boxPage{kind: kindBox, label: hook} }

// range of the labels of a hook's letters.
func lettersOf(hook string) dibs.ListQuery {
	return dibs.ListQuery{Kind: kindLetter, From: hook + "/", To: hook + "0"} // '0' follows '/'
}

func letterOf(hook string, p *letterPage) Letter {
	c := p.content
	return Letter{
		ID: p.label[len(hook)+1:], Hook: hook, Kind: c.Kind, Name: c.Name, Where: c.Where, EventAt: c.EventAt.Time(),
		DeadAt: c.DeadAt.Time(), Attempts: c.Attempts, LastError: c.Error, after: c.After, cursor: c.Cursor,
	}
}

// Letters returns up to limit dead letters behind the one with the id, oldest first.
// An empty id means from the first.
func (s *Service) Letters(ctx context.Context, hook, behind string, limit int) ([]Letter, error) {
	query := lettersOf(hook)
	query.Limit = limit
	if behind != "" {
		query.After = &dibs.ListPosition{Label: hook + "/" + behind}
	}
	records, err := s.cfg.Store.List(ctx, query)
	if err != nil {
		return nil, err
	}
	letters := make([]Letter, len(records))
	for i, record := range records {
		var p letterPage
		if err := p.take(record); err != nil {
			return nil, err
		}
		letters[i] = letterOf(hook, &p)
	}
	return letters, nil
}

// Letter returns a dead letter with its event, which is nil where the feed has it no
// longer. There are none but those that the webhook covers.
func (s *Service) Letter(ctx context.Context, hook *Hook, id string) (Letter, *dibs.Event, error) {
	p := letterAt(hook.ID, id)
	if _, err := load(ctx, s.cfg.Store, p); err != nil {
		return Letter{}, nil, err
	}
	letter := letterOf(hook.ID, p)
	if !p.there() || !hook.Covers(letter) {
		return Letter{}, nil, fmt.Errorf("%w: %s", ErrNoLetter, id)
	}
	event, err := eventAt(ctx, s.cfg.Store, letter.after, letter.cursor)
	return letter, event, err
}

// RemoveLetter removes a dead letter: nobody will be told of its event.
func (s *Service) RemoveLetter(ctx context.Context, hook, id string) error {
	return insist(ctx, s.cfg.Store, func() (dibs.Group, error) {
		p, b := letterAt(hook, id), boxAt(hook)
		if _, err := load(ctx, s.cfg.Store, p, b); err != nil {
			return dibs.Group{}, err
		}
		if !p.there() {
			return dibs.Group{}, fmt.Errorf("%w: %s", ErrNoLetter, id)
		}
		b.content.Count = max(b.content.Count-1, 0)
		write, err := b.write()
		return dibs.Group{Reads: []dibs.Read{p.read(), b.read()}, Writes: []dibs.Write{p.remove(), write}}, err
	})
}

// RemoveLetters removes all dead letters that there are, and returns how many.
func (s *Service) RemoveLetters(ctx context.Context, hook string) (removed int, err error) {
	for {
		letters, err := s.Letters(ctx, hook, "", lettersAtOnce)
		if err != nil || len(letters) == 0 {
			return removed, err
		}
		err = insist(ctx, s.cfg.Store, func() (dibs.Group, error) { return s.removal(ctx, hook, letters) })
		if err != nil {
			return removed, err
		}
		removed += len(letters)
	}
}

// lettersAtOnce are few enough for every engine to remove in one commit.
const lettersAtOnce = 20

// removal returns the changes that remove several letters, those that are still there.
func (s *Service) removal(ctx context.Context, hook string, letters []Letter) (dibs.Group, error) {
	b := boxAt(hook)
	pages := []loader{b}
	var found []*letterPage
	for _, l := range letters {
		p := letterAt(hook, l.ID)
		found, pages = append(found, p), append(pages, p)
	}
	if _, err := load(ctx, s.cfg.Store, pages...); err != nil {
		return dibs.Group{}, err
	}
	var group dibs.Group
	for _, p := range found {
		if p.there() {
			group.Reads, group.Writes = append(group.Reads, p.read()), append(group.Writes, p.remove())
			b.content.Count = max(b.content.Count-1, 0)
		}
	}
	write, err := b.write()
	group.Reads, group.Writes = append(group.Reads, b.read()), append(group.Writes, write)
	return group, err
}

// removeBox removes what is left of a hook that was removed.
func (s *Service) removeBox(ctx context.Context, hook string) error {
	if _, err := s.RemoveLetters(ctx, hook); err != nil {
		return err
	}
	b := boxAt(hook)
	if _, err := load(ctx, s.cfg.Store, b); err != nil || !b.there() {
		return err
	}
	return insist(ctx, s.cfg.Store, func() (dibs.Group, error) {
		_, err := load(ctx, s.cfg.Store, b)
		return dibs.Group{Reads: []dibs.Read{b.read()}, Writes: []dibs.Write{b.remove()}}, err
	})
}

// burial returns the changes that make a dead letter of an event, and drop the oldest
// where there would be too many.
func (s *Service) burial(ctx context.Context, hook string, it *item, failed Attempt) (dibs.Group, error) {
	b := boxAt(hook)
	if _, err := load(ctx, s.cfg.Store, b); err != nil {
		return dibs.Group{}, err
	}
	var group dibs.Group
	if b.content.Count >= s.cfg.limits.letters {
		query := lettersOf(hook)
		query.Limit = 1
		oldest, err := s.cfg.Store.List(ctx, query)
		if err != nil {
			return dibs.Group{}, err
		}
		for _, record := range oldest {
			var p letterPage
			if err := p.take(record); err != nil {
				return dibs.Group{}, err
			}
			group.Reads, group.Writes = append(group.Reads, p.read()), append(group.Writes, p.remove())
			b.content.Count--
			b.content.Dropped++
		}
	}
	b.content.Last++
	b.content.Count++
	p := letterAt(hook, letterID(b.content.Last))
	e := it.event
	p.content = letterContent{
		Kind: e.Kind, Name: e.ID, Where: e.Namespace, EventAt: e.At, DeadAt: dibs.InstantOf(failed.At.Add(failed.Took)),
		Attempts: it.attempts, Error: failed.Error, After: it.after, Cursor: e.Cursor,
	}
	if e.ID.IsZero() {
		p.content.Where = e.Scope
	}
	writeLetter, err := p.write()
	if err != nil {
		return dibs.Group{}, err
	}
	writeBox, err := b.write()
	group.Reads = append(group.Reads, p.read(), b.read())
	group.Writes = append(group.Writes, writeLetter, writeBox)
	return group, err
}
