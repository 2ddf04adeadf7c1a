//go:build unix

package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// sameWork is what a product has to write to get from its own tables what Dibs does for a
// reservation: the claim, a hold with a token and an end, and a line of history, together.
var sameWork = peer{
	is:    "same work by hand",
	lacks: "rules for names, redirects, quarantine, safe retries, evidence after a crash, a gapless feed; and it is yours to test",
}

// sameWorkInOne is the same in one statement, for a product that takes the trouble.
var sameWorkInOne = peer{is: "same work in one statement", lacks: sameWork.lacks}

const handSchema = `
	CREATE TABLE slugs (
		slug TEXT PRIMARY KEY,
		state TEXT NOT NULL CHECK (state IN ('held', 'active', 'free')),
		token BYTEA,
		held_until TIMESTAMPTZ,
		tenant_id UUID,
		revision BIGINT NOT NULL DEFAULT 1,
		changed_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
	);
	CREATE INDEX slugs_due ON slugs (held_until) WHERE state = 'held';
	CREATE UNIQUE INDEX slugs_tenant ON slugs (tenant_id) WHERE state = 'active';
	CREATE TABLE slug_history (
		id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		slug TEXT NOT NULL,
		event TEXT NOT NULL,
		revision BIGINT NOT NULL,
		tenant_id UUID,
		held_until TIMESTAMPTZ,
		at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
	);
	CREATE INDEX slug_history_slug ON slug_history (slug, id)`

const (
	// handClaim takes a name that is free, or whose hold is over.
	handClaim = `
		INSERT INTO slugs AS s (slug, state, token, held_until)
		VALUES ($1, 'held', $2, clock_timestamp() + INTERVAL '5 minutes')
		ON CONFLICT (slug) DO UPDATE
			SET state = 'held', token = excluded.token, held_until = excluded.held_until, tenant_id = NULL,
				revision = s.revision + 1, changed_at = clock_timestamp()
			WHERE s.state = 'free' OR s.state = 'held' AND s.held_until <= clock_timestamp()
		RETURNING revision, held_until`
	handConfirm = `
		UPDATE slugs SET state = 'active', tenant_id = $3, token = NULL, held_until = NULL,
			revision = revision + 1, changed_at = clock_timestamp()
		WHERE slug = $1 AND state = 'held' AND token = $2 AND held_until > clock_timestamp()
		RETURNING revision`
)

// handTable is the same work in a transaction of several statements.
type handTable struct{ *database }

func handOnPostgres(l *lab) contender { return openByHand(l, l.bestPool(byHand, openByHand)) }

func openByHand(l *lab, connections int) contender {
	l.Helper()
	return &handTable{l.openDatabase(connections, handSchema)}
}

func (t *handTable) reserve(name string) (bool, error) { return t.claim(name, newToken()) }

func (t *handTable) claim(name string, token []byte) (bool, error) {
	return t.change(func(ctx context.Context, tx pgx.Tx) error {
		var (
			revision int64
			until    time.Time
		)
		if err := tx.QueryRow(ctx, handClaim, name, token).Scan(&revision, &until); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO slug_history (slug, event, revision, held_until) VALUES ($1, 'reserved', $2, $3)`, name, revision, until)
		return err
	})
}

func (t *handTable) confirm(name string, token []byte) (bool, error) {
	return t.change(func(ctx context.Context, tx pgx.Tx) error {
		var revision int64
		if err := tx.QueryRow(ctx, handConfirm, name, token, tenantOf(name)).Scan(&revision); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO slug_history (slug, event, revision, tenant_id) VALUES ($1, 'confirmed', $2, $3)`, name, revision, tenantOf(name))
		return err
	})
}

// change runs a transaction and reports whether the name could be changed.
func (t *handTable) change(fn func(context.Context, pgx.Tx) error) (bool, error) {
	ctx := context.Background()
	err := pgx.BeginFunc(ctx, t.Pool, func(tx pgx.Tx) error { return fn(ctx, tx) })
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (t *handTable) pair(name string) error {
	token := newToken()
	won, err := t.claim(name, token)
	if err == nil && won {
		won, err = t.confirm(name, token)
	}
	if err == nil && !won {
		err = errTaken
	}
	return err
}

func newToken() []byte {
	token := make([]byte, 32)
	for i := range token {
		token[i] = byte(rand.Uint32())
	}
	return token
}

// handStatement is the same work in a single statement, and so in a single round trip.
type handStatement struct{ *database }

func statementOnPostgres(l *lab) contender {
	l.Helper()
	return &handStatement{l.openDatabase(l.bestPool(byHand, openByHand), handSchema)}
}

func (t *handStatement) reserve(name string) (bool, error) {
	tag, err := t.Exec(context.Background(), `WITH claim AS (`+handClaim+`)
		INSERT INTO slug_history (slug, event, revision, held_until)
		SELECT $1, 'reserved', revision, held_until FROM claim`, name, newToken())
	return tag.RowsAffected() == 1, err
}
