-- Times are milliseconds since 1970, UTC: to_timestamp(created_at / 1000.0).
-- NULL means "none" everywhere.

CREATE SCHEMA IF NOT EXISTS {schema};

CREATE TABLE IF NOT EXISTS {schema}.dibs_schema (
  step       integer     PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE {schema}.dibs_schema IS 'The steps of the migration that are done.';

COMMENT ON CONSTRAINT dibs_schema_pkey ON {schema}.dibs_schema IS 'No step is done twice: who does one has the lock of its row.';

-- Steps
--
-- Each statement is a step of its own, in a transaction of its own. A later version adds its steps
-- at the end.

CREATE TABLE IF NOT EXISTS {schema}.dibs_names (
  id              uuid   NOT NULL,
  rev             bigint NOT NULL,
  epoch           bigint NOT NULL,
  stamp           bigint NOT NULL,
  created_at      bigint,
  expires_at      bigint,
  due             bigint,
  confirmed_at    bigint,
  ended_at        bigint,
  until           bigint,
  ask_at          bigint,
  quarantine_ms   bigint,
  hold_history_ms bigint,
  asked           bigint,
  witnessed       boolean NOT NULL,
  many            boolean NOT NULL,
  counted         boolean NOT NULL,
  established     boolean NOT NULL,
  state           text    NOT NULL,
  status          text    NOT NULL,
  namespace       text    NOT NULL COLLATE "C",
  canonical       text    NOT NULL COLLATE "C",
  value           text,
  profile         text,
  token           bytea,
  principal       text,
  intended_type   text,
  intended_id     text,
  correlation_id  text,
  meta            text,
  doubt           text,
  owner_type      text,
  owner_id        text,
  owner           uuid,
  line            uuid,
  last_batch      uuid,
  last_ord        integer,
  links           bytea,
  spent           bytea,
  CONSTRAINT dibs_names_pkey PRIMARY KEY (id),
  -- Short, with one constant each: the server reads a constraint anew for every
  -- statement.
  CONSTRAINT dibs_names_state CHECK (state || '/' || status = ANY ('{held/reserved,suspect/suspect,active/confirmed,alias/confirmed,quarantined/released,quarantined/expired,free/released,free/expired}')),
  CONSTRAINT dibs_names_held CHECK (state <> 'held' OR (expires_at IS NOT NULL AND token IS NOT NULL)),
  CONSTRAINT dibs_names_owner CHECK ((owner IS NOT NULL) = (state = ANY ('{active,alias}'))),
  CONSTRAINT dibs_names_quarantined CHECK (state <> 'quarantined' OR until IS NOT NULL)
);

COMMENT ON TABLE {schema}.dibs_names IS 'One row per name that is or was in use. Dates are milliseconds since 1970, UTC.';

COMMENT ON COLUMN {schema}.dibs_names.id IS 'The first 128 bits of the SHA-256 of namespace:canonical; the reservation id is the same in base32.';

COMMENT ON COLUMN {schema}.dibs_names.stamp IS 'When its last events were written, by a clock that never goes back: it orders the feed.';

COMMENT ON COLUMN {schema}.dibs_names.value IS 'As the person wrote it; NULL: the same as canonical.';

COMMENT ON COLUMN {schema}.dibs_names.token IS 'The SHA-256 of the token, never the token.';

COMMENT ON COLUMN {schema}.dibs_names.owner IS 'dibs_entities.id, while the name is active or an alias.';

COMMENT ON COLUMN {schema}.dibs_names.last_batch IS 'With last_ord: the name''s last event, the end of its history.';

COMMENT ON COLUMN {schema}.dibs_names.links IS 'What ties the name to other records: for each, a letter and an id of 16 bytes. s: the document that it shares with its look-alikes; h: one that leads to it from a keyed hash; t: the row that has the name since the rules of its namespace changed; f: a row that had it before.';

COMMENT ON COLUMN {schema}.dibs_names.spent IS 'The tokens of holds before the last one, up to 16 of 41 bytes each: the beginning of the token''s SHA-256 (16), what tells the principal (8), the epoch (8), how the hold ended (c, r or e), until when this is remembered (8, milliseconds).';

COMMENT ON CONSTRAINT dibs_names_pkey ON {schema}.dibs_names IS 'Never two rows, and so never two owners, for one name.';

COMMENT ON CONSTRAINT dibs_names_state ON {schema}.dibs_names IS 'No state that nobody knows, and none that contradicts what became of the reservation.';

COMMENT ON CONSTRAINT dibs_names_held ON {schema}.dibs_names IS 'No hold that never ends, or that nobody can confirm.';

COMMENT ON CONSTRAINT dibs_names_owner ON {schema}.dibs_names IS 'No active name or alias without an owner; no owner''s claim to any other name.';

COMMENT ON CONSTRAINT dibs_names_quarantined ON {schema}.dibs_names IS 'No quarantine without an end.';

CREATE INDEX IF NOT EXISTS dibs_names_key ON {schema}.dibs_names (namespace, canonical);

COMMENT ON INDEX {schema}.dibs_names_key IS 'The order of listings. That a name has one row is for dibs_names_pkey: a second unique index would be looked up once more for every reservation.';

CREATE UNIQUE INDEX IF NOT EXISTS dibs_names_active ON {schema}.dibs_names (owner, namespace) WHERE state = 'active' AND NOT many;

COMMENT ON INDEX {schema}.dibs_names_active IS 'Never two active names of one entity in a namespace, unless its policy allows many.';

CREATE INDEX IF NOT EXISTS dibs_names_owned ON {schema}.dibs_names (owner, namespace) WHERE state = 'alias' OR (state = 'active' AND many);

COMMENT ON INDEX {schema}.dibs_names_owned IS 'An entity''s other names. Apart from dibs_names_active, so that a name is in one of them only.';

CREATE INDEX IF NOT EXISTS dibs_names_due ON {schema}.dibs_names (due) WHERE due IS NOT NULL;

COMMENT ON INDEX {schema}.dibs_names_due IS 'What the sweeper has to look at, earliest first. No scan of names that are in nobody''s way.';

CREATE TABLE IF NOT EXISTS {schema}.dibs_entities (
  id        uuid    NOT NULL,
  rev       bigint  NOT NULL,
  stamp     bigint  NOT NULL,
  due       bigint,
  archived  boolean NOT NULL,
  deleted   boolean NOT NULL,
  scope     text,
  type      text    NOT NULL,
  entity_id text    NOT NULL,
  active    text,
  CONSTRAINT dibs_entities_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE {schema}.dibs_entities IS 'One row per entity that owns names, or did. rev is the entity''s version.';

COMMENT ON COLUMN {schema}.dibs_entities.active IS 'JSON object: namespace (or a line of one) to reservation id.';

COMMENT ON CONSTRAINT dibs_entities_pkey ON {schema}.dibs_entities IS 'Never two versions of one entity: every change to its names has to pass through this row.';

CREATE INDEX IF NOT EXISTS dibs_entities_due ON {schema}.dibs_entities (due) WHERE due IS NOT NULL;

COMMENT ON INDEX {schema}.dibs_entities_due IS 'Deleted entities that have names left to give up.';

CREATE TABLE IF NOT EXISTS {schema}.dibs_documents (
  kind  text   NOT NULL COLLATE "C",
  id    uuid   NOT NULL,
  rev   bigint NOT NULL,
  due   bigint,
  scope text,
  label text   NOT NULL COLLATE "C",
  data  bytea,
  CONSTRAINT dibs_documents_pkey PRIMARY KEY (kind, id)
);

COMMENT ON TABLE {schema}.dibs_documents IS 'Records of all other kinds: quotas, conflict counters, highest purged epochs. What data holds, only the rules know.';

COMMENT ON CONSTRAINT dibs_documents_pkey ON {schema}.dibs_documents IS 'Never two documents of a kind with one id: one of them would be out of date.';

CREATE UNIQUE INDEX IF NOT EXISTS dibs_documents_label ON {schema}.dibs_documents (kind, label);

COMMENT ON INDEX {schema}.dibs_documents_label IS 'Never two documents of a kind with one label: listings could not be resumed.';

CREATE INDEX IF NOT EXISTS dibs_documents_due ON {schema}.dibs_documents (due) WHERE due IS NOT NULL;

COMMENT ON INDEX {schema}.dibs_documents_due IS 'Documents that have had their time.';

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
