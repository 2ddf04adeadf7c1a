-- Times are milliseconds since 1970, UTC: to_timestamp(created_at / 1000.0).
-- NULL means "none" everywhere.
--
-- Each statement is a step of its own, in a transaction of its own.

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
