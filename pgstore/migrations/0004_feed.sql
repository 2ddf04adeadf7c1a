-- Transactions commit in another order than they begin, so no number that one
-- gives itself can be its place in the feed. Each writes a batch without a number;
-- whoever sees it committed numbers it, one after another under the lock of
-- dibs_head. So a reader never meets a number before all smaller ones.

CREATE TABLE IF NOT EXISTS {schema}.dibs_batches (
  id    uuid    NOT NULL,
  stamp bigint  NOT NULL,
  seq   bigint,
  live  integer NOT NULL,
  CONSTRAINT dibs_batches_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE {schema}.dibs_batches IS 'One row per transaction of Dibs.';

COMMENT ON COLUMN {schema}.dibs_batches.seq IS 'Its place in the feed; NULL: not numbered yet.';

COMMENT ON COLUMN {schema}.dibs_batches.live IS 'How many of its events are left; -1: the transaction was found not to have happened.';

COMMENT ON CONSTRAINT dibs_batches_pkey ON {schema}.dibs_batches IS 'A transaction whose answer was lost is looked up here: it is there, or can be kept from ever happening.';

CREATE UNIQUE INDEX IF NOT EXISTS dibs_batches_seq ON {schema}.dibs_batches (seq) WHERE seq IS NOT NULL;

COMMENT ON INDEX {schema}.dibs_batches_seq IS 'Never two transactions in one place of the feed: a reader that resumes there would miss one.';

CREATE INDEX IF NOT EXISTS dibs_batches_pending ON {schema}.dibs_batches (stamp, id) WHERE seq IS NULL;

COMMENT ON INDEX {schema}.dibs_batches_pending IS 'What is committed and not numbered yet, in the order in which it will be.';

CREATE INDEX IF NOT EXISTS dibs_batches_empty ON {schema}.dibs_batches (stamp) WHERE live <= 0;

COMMENT ON INDEX {schema}.dibs_batches_empty IS 'Batches whose events are gone, to be removed.';

CREATE TABLE IF NOT EXISTS {schema}.dibs_events (
  batch      uuid    NOT NULL,
  prev_batch uuid,
  name       uuid,
  at         bigint  NOT NULL,
  rev        bigint  NOT NULL,
  ord        integer NOT NULL,
  prev_ord   integer,
  loose      boolean NOT NULL,
  kind       text    NOT NULL,
  namespace  text,
  body       text    NOT NULL,
  CONSTRAINT dibs_events_pkey PRIMARY KEY (batch, ord)
);

COMMENT ON TABLE {schema}.dibs_events IS 'What happened, in order within its batch.';

COMMENT ON COLUMN {schema}.dibs_events.name IS 'dibs_names.id; NULL: about an entity as a whole.';

COMMENT ON COLUMN {schema}.dibs_events.body IS 'JSON.';

COMMENT ON COLUMN {schema}.dibs_events.prev_batch IS 'With prev_ord: the event of the same name before this one. A name''s events are a chain from its row; an index would be one more page to write for each.';

COMMENT ON COLUMN {schema}.dibs_events.loose IS 'Of a name whose row was not written with it, and so in no chain.';

COMMENT ON CONSTRAINT dibs_events_pkey ON {schema}.dibs_events IS 'Never two events in one place of the feed.';

CREATE INDEX IF NOT EXISTS dibs_events_loose ON {schema}.dibs_events (name) WHERE loose;

COMMENT ON INDEX {schema}.dibs_events_loose IS 'Events that are in no chain.';

CREATE TABLE IF NOT EXISTS {schema}.dibs_head (
  one boolean NOT NULL DEFAULT true,
  seq bigint  NOT NULL,
  CONSTRAINT dibs_head_pkey PRIMARY KEY (one),
  CONSTRAINT dibs_head_one CHECK (one)
);

COMMENT ON TABLE {schema}.dibs_head IS 'The last number that was given out. Its lock is the right to give out the next.';

COMMENT ON CONSTRAINT dibs_head_pkey ON {schema}.dibs_head IS 'With dibs_head_one: never two rows, so never two who number at once.';

COMMENT ON CONSTRAINT dibs_head_one ON {schema}.dibs_head IS 'With dibs_head_pkey: never two rows.';

INSERT INTO {schema}.dibs_head (seq) VALUES (0) ON CONFLICT DO NOTHING;

CREATE OR REPLACE VIEW {schema}.dibs_feed AS
  SELECT b.seq, e.ord, to_timestamp(e.at / 1000.0) AS at, e.kind, e.namespace, n.canonical, e.rev, e.body
  FROM {schema}.dibs_batches b
  JOIN {schema}.dibs_events e ON e.batch = b.id
  LEFT JOIN {schema}.dibs_names n ON n.id = e.name;

COMMENT ON VIEW {schema}.dibs_feed IS 'The feed as a person wants to read it: ORDER BY seq, ord.';
