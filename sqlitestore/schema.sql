-- Times are milliseconds since 1970, UTC: datetime(created_at / 1000, 'unixepoch').
-- NULL means "none" everywhere. STRICT refuses values of the wrong type.

-- One row per name. Rows are numbered and appended, so that only small indexes are
-- written in random places.
CREATE TABLE dibs_names (
  n               INTEGER PRIMARY KEY, -- what events refer to; it means nothing else
  id              BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
  rev             INTEGER NOT NULL CHECK (rev >= 1),
  namespace       TEXT    NOT NULL,
  canonical       TEXT    NOT NULL,
  value           TEXT,    -- as the person wrote it; NULL: the same as canonical
  profile         TEXT,
  state           TEXT    NOT NULL,
  status          TEXT    NOT NULL,
  epoch           INTEGER NOT NULL CHECK (epoch >= 1),
  created_at      INTEGER,
  token           BLOB     CHECK (length(token) = 32), -- SHA-256 of the token
  principal       TEXT,
  intended_type   TEXT,
  intended_id     TEXT,
  correlation_id  TEXT,
  meta            TEXT,    -- JSON object of strings
  expires_at      INTEGER,
  asked           INTEGER  CHECK (asked >= 0),
  ask_at          INTEGER,
  doubt           TEXT,
  owner_type      TEXT,
  owner_id        TEXT,
  -- The id of the owner's row in dibs_entities, while the name is active or an
  -- alias. The indexes use it: it is shorter than scope, type and id.
  owner           BLOB     CHECK (length(owner) = 16),
  confirmed_at    INTEGER,
  ended_at        INTEGER,
  line            BLOB     CHECK (length(line) = 16),
  until           INTEGER,
  witnessed       INTEGER NOT NULL CHECK (witnessed IN (0, 1)),
  many            INTEGER NOT NULL CHECK (many IN (0, 1)),
  counted         INTEGER NOT NULL CHECK (counted IN (0, 1)), -- stands in its principal's quota
  quarantine_ms   INTEGER,
  hold_history_ms INTEGER,
  established     INTEGER NOT NULL CHECK (established IN (0, 1)),
  due             INTEGER,
  last_event      INTEGER, -- dibs_events.seq: the end of the name's history
  -- What ties a name to other records: for each, a letter and an id of 16 bytes. 's' is
  -- the document that it shares with its look-alikes, 'h' one that leads to it from a
  -- keyed hash, 't' the row that has the name since the rules of its namespace changed,
  -- 'f' a row that had it before.
  links           BLOB     CHECK (length(links) % 17 = 0),
  -- The tokens of holds before the last one, up to 16, so that a late duplicate takes nothing. For
  -- each the beginning of the token's SHA-256 (16 bytes), what tells the principal (8), the
  -- epoch (8), how the hold ended ('c'onfirmed, 'r'eleased, 'e'xpired), and until when this is
  -- remembered (8, milliseconds).
  spent           BLOB     CHECK (length(spent) % 41 = 0),

  -- No unknown state, and none that contradicts the reservation's status.
  CONSTRAINT dibs_names_state CHECK (CASE state
    WHEN 'held'        THEN status = 'reserved'
    WHEN 'suspect'     THEN status = 'suspect'
    WHEN 'active'      THEN status = 'confirmed'
    WHEN 'alias'       THEN status = 'confirmed'
    WHEN 'quarantined' THEN status IN ('released', 'expired')
    WHEN 'free'        THEN status IN ('released', 'expired')
    ELSE 0 END),
  -- No hold without an end or a token.
  CONSTRAINT dibs_names_held CHECK (state <> 'held' OR (expires_at IS NOT NULL AND token IS NOT NULL)),
  -- No active name or alias without an owner; no owner's claim to any other name.
  CONSTRAINT dibs_names_owner CHECK (CASE WHEN state IN ('active', 'alias')
    THEN owner IS NOT NULL AND owner_type IS NOT NULL AND owner_id IS NOT NULL
    ELSE owner IS NULL END),
  -- No quarantine without an end.
  CONSTRAINT dibs_names_quarantined CHECK (state <> 'quarantined' OR until IS NOT NULL)
) STRICT;

-- Never two rows for one name; and the order of listings.
CREATE UNIQUE INDEX dibs_names_key ON dibs_names (namespace, canonical);

-- Never two active names of one entity in a namespace, unless its policy allows many.
CREATE UNIQUE INDEX dibs_names_active ON dibs_names (owner, namespace)
  WHERE state = 'active' AND many = 0;

-- An entity's other names. Apart from the index above, so that a name is in one of
-- them only.
CREATE INDEX dibs_names_owned ON dibs_names (owner, namespace)
  WHERE state = 'alias' OR (state = 'active' AND many = 1);

-- When holds end. Apart from other due dates, so that all held names are in one index, and in no
-- further one. The second migration adds namespace and canonical.
CREATE INDEX dibs_names_held ON dibs_names (due) WHERE state = 'held';

CREATE INDEX dibs_names_due ON dibs_names (due) WHERE due IS NOT NULL AND state <> 'held';

-- Listings of the states that few names are in.
CREATE INDEX dibs_names_rare ON dibs_names (state, namespace, canonical)
  WHERE state = 'suspect' OR state = 'alias' OR state = 'quarantined' OR state = 'free';

-- How many names are in a state, kept with every commit. Free names are not counted.
CREATE TABLE dibs_counts (
  namespace TEXT    NOT NULL,
  state     TEXT    NOT NULL,
  names     INTEGER NOT NULL,
  PRIMARY KEY (namespace, state)
) STRICT, WITHOUT ROWID;

-- One row per entity that owns names, or did.
CREATE TABLE dibs_entities (
  id        BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  rev       INTEGER NOT NULL CHECK (rev >= 1),
  scope     TEXT,
  type      TEXT    NOT NULL,
  entity_id TEXT    NOT NULL,
  archived  INTEGER NOT NULL CHECK (archived IN (0, 1)),
  deleted   INTEGER NOT NULL CHECK (deleted IN (0, 1)),
  active    TEXT,    -- JSON object: namespace (or a line of one) to reservation id
  due       INTEGER
) STRICT;

CREATE INDEX dibs_entities_due ON dibs_entities (due) WHERE due IS NOT NULL;

-- Records of all other kinds. What data holds, only the rules know.
CREATE TABLE dibs_documents (
  kind  TEXT    NOT NULL,
  id    BLOB    NOT NULL CHECK (length(id) = 16),
  rev   INTEGER NOT NULL CHECK (rev >= 1),
  scope TEXT,
  label TEXT    NOT NULL,
  due   INTEGER,
  data  BLOB,
  PRIMARY KEY (kind, id)
) STRICT;

-- Never two documents of a kind with one label: listings could not be resumed.
CREATE UNIQUE INDEX dibs_documents_label ON dibs_documents (kind, label);

CREATE INDEX dibs_documents_due ON dibs_documents (due) WHERE due IS NOT NULL;

-- The feed. SQLite has one writer at a time, so seq is the order of commits.
--
-- A name's events are a chain: its row has the last one, and each has the one before
-- it. An index would be one more page to write for every event.
CREATE TABLE dibs_events (
  seq       INTEGER PRIMARY KEY,
  kind      TEXT    NOT NULL,
  at        INTEGER NOT NULL,
  name      INTEGER, -- dibs_names.n; NULL: about an entity as a whole
  prev      INTEGER CHECK (prev < seq), -- the event of the same name before this one
  rev       INTEGER NOT NULL CHECK (rev >= 0),
  body      BLOB    NOT NULL, -- a message of Protocol Buffers, see body.go
  -- Only of a name without a row: its id and namespace.
  id        BLOB     CHECK (length(id) = 16),
  namespace TEXT,
  CONSTRAINT dibs_events_about CHECK (name IS NULL OR (id IS NULL AND namespace IS NULL))
) STRICT;

CREATE INDEX dibs_events_id ON dibs_events (id) WHERE id IS NOT NULL;

-- The highest seq and n when names were last deleted: a number is never given out
-- again, so no cursor and no event can mean something else one day.
CREATE TABLE dibs_ends (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  seq INTEGER NOT NULL,
  n   INTEGER NOT NULL
) STRICT;

-- The feed as a person wants to read it.
CREATE VIEW dibs_feed AS
  SELECT e.seq, e.kind, datetime(e.at / 1000, 'unixepoch') AS at,
    coalesce(n.namespace, e.namespace) AS namespace, n.canonical, e.rev
  FROM dibs_events e LEFT JOIN dibs_names n ON n.n = e.name;
