-- The statements whose texts do not depend on their rows, each under its name. {schema} is the
-- schema, {clock} the expression of the present time, and {names}, {entities} and {documents} are the
-- columns of their tables, as they are read.

-- name: now
SELECT {clock}

-- Records of all kinds by one statement, which sees one moment. Each row of the result has a
-- name, an entity and a document that are unrelated.
-- name: load
SELECT c.now, {names}, {entities}, {documents}
FROM (SELECT {clock} AS now) c
LEFT JOIN unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[]) AS r(name, entity, kind, document) ON true
LEFT JOIN {schema}.dibs_name_rows n ON n.id = r.name
LEFT JOIN {schema}.dibs_entities e ON e.id = r.entity
LEFT JOIN {schema}.dibs_documents d ON d.kind = r.kind AND d.id = r.document

-- Compares the number of rows with the number of those that could be locked.
-- name: await
WITH n AS MATERIALIZED (SELECT 1 FROM {schema}.dibs_name_rows t WHERE t.id = ANY ($1::uuid[]) FOR SHARE OF t SKIP LOCKED),
  e AS MATERIALIZED (SELECT 1 FROM {schema}.dibs_entities t WHERE t.id = ANY ($2::uuid[]) FOR SHARE OF t SKIP LOCKED),
  d AS MATERIALIZED (SELECT 1 FROM {schema}.dibs_documents t
    WHERE (t.kind, t.id) IN (SELECT * FROM unnest($3::text[], $4::uuid[])) FOR SHARE OF t SKIP LOCKED)
SELECT (SELECT count(*) FROM n) + (SELECT count(*) FROM e) + (SELECT count(*) FROM d) =
  (SELECT count(*) FROM {schema}.dibs_name_rows t WHERE t.id = ANY ($1::uuid[])) +
  (SELECT count(*) FROM {schema}.dibs_entities t WHERE t.id = ANY ($2::uuid[])) +
  (SELECT count(*) FROM {schema}.dibs_documents t WHERE (t.kind, t.id) IN (SELECT * FROM unnest($3::text[], $4::uuid[])))
  AND {clock} >= $5::bigint

-- name: due
WITH c AS MATERIALIZED (SELECT {clock} AS now)
SELECT kind, scope, id FROM (
  (SELECT due, 'name' AS kind, namespace AS scope, id FROM {schema}.dibs_name_rows
    WHERE state = 'held' AND due <= (SELECT now FROM c) ORDER BY due LIMIT $1)
  UNION ALL
  (SELECT due, 'name', namespace, id FROM {schema}.dibs_name_rows
    WHERE state <> 'held' AND due <= (SELECT now FROM c) ORDER BY due LIMIT $1)
  UNION ALL
  (SELECT due, 'entity', coalesce(scope, ''), id FROM {schema}.dibs_entities
    WHERE due <= (SELECT now FROM c) ORDER BY due LIMIT $1)
  UNION ALL
  (SELECT due, kind, coalesce(scope, ''), id FROM {schema}.dibs_documents
    WHERE due <= (SELECT now FROM c) ORDER BY due LIMIT $1)) d
ORDER BY due LIMIT $1

-- Each part uses an index of its own.
-- name: owned
SELECT {names} FROM (
  SELECT * FROM {schema}.dibs_name_rows WHERE owner = $1::uuid AND state = 'active' AND NOT many
  UNION ALL
  SELECT * FROM {schema}.dibs_name_rows WHERE owner = $1::uuid AND (state = 'alias' OR (state = 'active' AND many))) n
ORDER BY n.namespace, n.canonical LIMIT $2

-- name: list ending
SELECT {names} FROM (
  SELECT * FROM {schema}.dibs_name_rows WHERE state = 'held' AND due < $1::bigint AND $2::text IN ('', namespace) ORDER BY due LIMIT $3::bigint) n
ORDER BY n.due

-- A page of names in one {state} and within {bounds}, from the first namespace that fulfils {first}.
-- It finds the next namespace in the index, behind all names of the one before.
-- name: list namespaces
WITH RECURSIVE spaces(namespace) AS (
    (SELECT namespace FROM {schema}.dibs_name_rows WHERE {state} AND {first} ORDER BY namespace LIMIT 1)
    UNION ALL
    SELECT (SELECT r.namespace FROM {schema}.dibs_name_rows r WHERE {state} AND r.namespace > s.namespace ORDER BY r.namespace LIMIT 1)
    FROM spaces s WHERE s.namespace IS NOT NULL)
SELECT n.* FROM spaces s CROSS JOIN LATERAL (
  SELECT * FROM {schema}.dibs_name_rows WHERE {state} AND namespace = s.namespace{bounds} ORDER BY canonical LIMIT {limit}) n
LIMIT {limit}

-- Listings have further clauses.
-- name: list documents
SELECT {documents} FROM {schema}.dibs_documents d

-- What is counted, and what the batches change that are not. One more row, without a namespace, has
-- the holds that end soon.
-- name: count
SELECT namespace, state, sum(names)::bigint FROM (
  SELECT namespace, state, names FROM {schema}.dibs_counts
  UNION ALL
  SELECT {change} FROM {schema}.dibs_batches b
    CROSS JOIN LATERAL unnest(string_to_array(b.counts, E'\n')) AS l(line) WHERE b.seq IS NULL) c
GROUP BY 1, 2 HAVING sum(names) <> 0
UNION ALL
SELECT '', '', count(*) FROM {schema}.dibs_name_rows WHERE due <= $1::bigint AND state = 'held'

-- Names that stop being an entity's active one.
-- name: deactivate
UPDATE {schema}.dibs_name_rows SET state = 'alias' WHERE id = ANY ($1::uuid[]) AND state = 'active'

-- Also checks the window.
-- name: insert batch
WITH b AS (INSERT INTO {schema}.dibs_batches (id, stamp, live, counts) VALUES ($1::uuid, $2::bigint, $3::bigint, nullif($6::text, '')))
SELECT {window} FROM (SELECT {clock} AS now) c

-- The whole commit of new names: {insert} inserts those that are absent. Events of the others are
-- left out of their lines.
-- name: new names
WITH {locked}
  done AS ({insert} ON CONFLICT (id) DO NOTHING RETURNING id, namespace, state),
  told AS (INSERT INTO {schema}.dibs_events (batch, ord, lines)
    SELECT {batch}, q.ord, q.lines FROM (
      SELECT r.ord, CASE WHEN (SELECT count(*) FROM done) = {rows} THEN r.lines ELSE (
        SELECT string_agg(CASE WHEN (split_part(line, E'\t', 5)::uuid IN (SELECT id FROM done)) IS TRUE THEN line ELSE '' END, E'\n' ORDER BY n)
        FROM unnest(string_to_array(r.lines, E'\n')) WITH ORDINALITY AS l(line, n)) END AS lines
      FROM unnest({ords}, {lines}) AS r(ord, lines)) q
    WHERE ltrim(q.lines, E'\n') <> ''),
  closed AS (INSERT INTO {schema}.dibs_batches (id, stamp, live, counts)
    SELECT {batch}, {stamp}, sum(d.names), string_agg(replace(replace(replace(d.namespace, '\', '\\'), E'\t', '\t'), E'\n', '\n') || E'\t' || d.state || E'\t' || d.names, E'\n') FILTER (WHERE d.state <> 'free')
    FROM (SELECT namespace, state, count(*) AS names FROM done GROUP BY 1, 2) d HAVING count(*) > 0)
SELECT ids, {within} FROM (SELECT ids, {clock} AS now FROM (SELECT array_agg(id) AS ids FROM done) d) c

-- The same for a single name, which is inserted with all of its event and counts, or not at all: a
-- lone caller waits for every expression.
-- name: new name
WITH {locked}
  done AS ({insert} ON CONFLICT (id) DO NOTHING RETURNING id),
  told AS (INSERT INTO {schema}.dibs_events (batch, ord, lines) SELECT {batch}, 0, {event} FROM done),
  closed AS (INSERT INTO {schema}.dibs_batches (id, stamp, live, counts) SELECT {batch}, {stamp}, 1, nullif({counts}, '') FROM done)
SELECT ids, {within} FROM (SELECT ids, {clock} AS now FROM (SELECT array_agg(id) AS ids FROM done) d) c

-- The outcome of a batch: its live events, or -1 from now on.
-- name: outcome
INSERT INTO {schema}.dibs_batches AS b (id, stamp, live) VALUES ($1::uuid, $2::bigint, -1)
ON CONFLICT (id) DO UPDATE SET live = b.live RETURNING live

-- The new names that a batch has inserted, which are those with events, and no time.
-- name: names in batch
SELECT array_agg(DISTINCT nullif(split_part(line, E'\t', 5), '')::uuid) FILTER (WHERE split_part(line, E'\t', 5) <> ''), 0::bigint
FROM {schema}.dibs_events e CROSS JOIN LATERAL unnest(string_to_array(e.lines, E'\n')) AS l(line) WHERE e.batch = $1::uuid

-- Removes the events of names. Batches without a number are not updated: their locks would delay
-- the numbering.
-- name: delete history
WITH RECURSIVE chain(batch, ord) AS (
    SELECT last_batch, last_ord FROM {schema}.dibs_name_rows WHERE id = ANY ($1::uuid[]) AND last_batch IS NOT NULL
    UNION ALL
    SELECT l.prev_batch, l.prev_ord FROM chain c CROSS JOIN LATERAL ({line}) l WHERE l.prev_batch IS NOT NULL),
  history(batch, ord) AS (
    SELECT batch, ord FROM chain UNION ALL SELECT batch, ord FROM {schema}.dibs_events WHERE loose = ANY ($1::uuid[])),
  places AS MATERIALIZED (SELECT h.batch, e.ord, array_agg(h.ord) AS ords FROM history h
    CROSS JOIN LATERAL (SELECT ord FROM {schema}.dibs_events WHERE batch = h.batch AND ord <= h.ord ORDER BY ord DESC LIMIT 1) e
    GROUP BY 1, 2),
  gone AS (UPDATE {schema}.dibs_events e SET loose = NULL, lines = (
      SELECT string_agg(CASE WHEN e.ord + l.n - 1 = ANY (p.ords) THEN '' ELSE l.line END, E'\n' ORDER BY l.n)
      FROM unnest(string_to_array(e.lines, E'\n')) WITH ORDINALITY AS l(line, n))
    FROM places p WHERE e.batch = p.batch AND e.ord = p.ord RETURNING e.batch, cardinality(p.ords) AS n)
UPDATE {schema}.dibs_batches b SET live = b.live - g.n
FROM (SELECT batch, sum(n) AS n FROM gone GROUP BY batch) g WHERE b.id = g.batch AND b.seq IS NOT NULL

-- Replaces events, but for the link to the one before: by the number of the batch; or, in the
-- transaction that wrote the event, by its stamp.
-- name: redact
WITH places AS MATERIALIZED (
    SELECT e.batch, e.ord, array_agg(r.ord) AS ords, array_agg(r.line) AS lines
    FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS r(seq, ord, line)
    CROSS JOIN LATERAL (SELECT id FROM {schema}.dibs_batches WHERE seq = r.seq
      UNION ALL SELECT id FROM {schema}.dibs_batches WHERE seq IS NULL AND stamp = r.seq - {unnumbered}) b
    CROSS JOIN LATERAL (SELECT batch, ord FROM {schema}.dibs_events WHERE batch = b.id AND ord <= r.ord ORDER BY ord DESC LIMIT 1) e
    GROUP BY 1, 2)
UPDATE {schema}.dibs_events e SET lines = (
    SELECT string_agg(CASE WHEN l.line = '' OR i.at IS NULL THEN l.line ELSE split_part(l.line, E'\t', 1) || E'\t' || p.lines[i.at] END, E'\n' ORDER BY l.n)
    FROM unnest(string_to_array(e.lines, E'\n')) WITH ORDINALITY AS l(line, n)
    CROSS JOIN LATERAL (SELECT array_position(p.ords, e.ord + l.n - 1) AS at) i)
FROM places p WHERE e.batch = p.batch AND e.ord = p.ord

-- Whether there are batches to number, and the last number.
-- name: head
SELECT EXISTS (SELECT 1 FROM {schema}.dibs_batches WHERE seq IS NULL), (SELECT seq FROM {schema}.dibs_head)

-- name: continue feed
UPDATE {schema}.dibs_head SET seq = greatest(seq, $1::bigint)

-- Makes the numbers of an empty store begin behind another one.
-- name: start after
UPDATE {schema}.dibs_head SET seq = greatest(seq, $1::bigint)

-- What a snapshot begins with: the time, the last number, and the batches without one in the order
-- in which they will have one.
-- name: begin snapshot
SELECT {clock}, (SELECT seq FROM {schema}.dibs_head),
  ARRAY(SELECT id FROM {schema}.dibs_batches WHERE seq IS NULL ORDER BY stamp, id)

-- Pages of a snapshot.
-- name: names after
SELECT {names} FROM {schema}.dibs_name_rows n WHERE n.id > $1 ORDER BY n.id LIMIT $2

-- name: entities after
SELECT {entities} FROM {schema}.dibs_entities e WHERE e.id > $1 ORDER BY e.id LIMIT $2

-- name: documents after
SELECT {documents} FROM {schema}.dibs_documents d WHERE (d.kind, d.id) > ($3::text COLLATE "C", $1) ORDER BY d.kind, d.id LIMIT $2

-- name: lock head
SELECT seq FROM {schema}.dibs_head FOR UPDATE

-- A batch that rests on another has the higher stamp, and is never visible without it. So the
-- order of stamps puts it behind. {which} selects all batches without a number, or those that a
-- snapshot sees.
-- name: number
WITH p AS MATERIALIZED (SELECT id, counts, row_number() OVER (ORDER BY stamp, id) AS n
    FROM (SELECT id, stamp, counts FROM {schema}.dibs_batches WHERE seq IS NULL{which} ORDER BY stamp, id LIMIT $1) q),
  u AS (UPDATE {schema}.dibs_batches b SET seq = h.seq + p.n, counts = NULL FROM p, {schema}.dibs_head h WHERE b.id = p.id),
  h AS (UPDATE {schema}.dibs_head SET seq = seq + (SELECT count(*) FROM p) WHERE EXISTS (SELECT 1 FROM p)),
  c AS (INSERT INTO {schema}.dibs_counts AS c (namespace, state, names)
    SELECT namespace, state, sum(names) FROM (
      SELECT {change} FROM p b CROSS JOIN LATERAL unnest(string_to_array(b.counts, E'\n')) AS l(line)) d(namespace, state, names) GROUP BY 1, 2
    ON CONFLICT (namespace, state) DO UPDATE SET names = c.names + excluded.names)
SELECT count(*) FROM p

-- A line of dibs_batches.counts.
-- name: change
coalesce(replace(replace(replace(replace(nullif(split_part(l.line, E'\t', 1), ''), '\\', E'\x01'), '\t', E'\t'), '\n', E'\n'), E'\x01', '\'), '') COLLATE "C", split_part(l.line, E'\t', 2), split_part(l.line, E'\t', 3)::bigint

-- Removes batches that have no events left.
-- name: purge
WITH gone AS (DELETE FROM {schema}.dibs_batches WHERE id IN (
    SELECT id FROM {schema}.dibs_batches WHERE live <= 0 AND seq IS NOT NULL AND stamp < $1 ORDER BY stamp LIMIT $2) RETURNING id),
  events AS (DELETE FROM {schema}.dibs_events e USING gone g WHERE e.batch = g.id)
SELECT FROM gone

-- Batches get their numbers later, and void ones never had a commit.
-- name: add fence
ALTER TABLE {schema}.dibs_batches ADD CONSTRAINT dibs_moved CHECK (seq IS NOT NULL OR live < 0) NOT VALID

-- name: drop fence
ALTER TABLE {schema}.dibs_batches DROP CONSTRAINT IF EXISTS dibs_moved

-- name: put fence
INSERT INTO {schema}.dibs_documents AS d (kind, id, rev, label, data) VALUES ($1, $2, 1, $3, $4)
ON CONFLICT (kind, id) DO UPDATE SET rev = d.rev + 1, data = excluded.data

-- name: remove fence
DELETE FROM {schema}.dibs_documents WHERE kind = $1 AND id = $2

-- name: notify
SELECT pg_notify($1, '')

-- A page of the feed, of the batches that are {included} and whose place is {seq}. It looks up the
-- events of each batch, never the other way round, so that the cost of a page does not grow with
-- the feed.
-- name: page
SELECT {seq}, e.ord, e.line FROM {schema}.dibs_batches b
CROSS JOIN LATERAL (SELECT e.ord + l.n - 1 AS ord, l.line FROM (SELECT ord, lines FROM {schema}.dibs_events WHERE batch = b.id ORDER BY ord) e
  CROSS JOIN LATERAL unnest(string_to_array(e.lines, E'\n')) WITH ORDINALITY AS l(line, n)
  WHERE l.line <> '' AND ({seq} > $1::bigint OR e.ord + l.n - 1 > $2::bigint) ORDER BY 1) e
WHERE {included} AND {seq} >= $1::bigint ORDER BY {seq}, e.ord LIMIT $3

-- An event by its place c, with the links to the one before.
-- name: line
SELECT c.batch, c.ord, e.loose, l.line, nullif(split_part(split_part(l.line, E'\t', 1), '/', 1), '')::uuid AS prev_batch,
  nullif(split_part(split_part(l.line, E'\t', 1), '/', 2), '')::int AS prev_ord
FROM (SELECT ord, loose, lines FROM {schema}.dibs_events WHERE batch = c.batch AND ord <= c.ord ORDER BY ord DESC LIMIT 1) e
CROSS JOIN LATERAL (SELECT split_part(e.lines, E'\n', least(c.ord - e.ord, 100) + 1) AS line) l WHERE l.line <> ''

-- The newest events of a name: the chain from its row, or from the event before the cursor, and
-- the events in no chain. It follows no more links than the page has room for, so the cost of a
-- page does not grow with the history. LATERAL makes it look up each link by its key, whatever
-- the planner expects of a chain.
-- name: history
WITH RECURSIVE seen AS (
    SELECT l.* FROM (SELECT id AS batch, $2::int AS ord FROM {schema}.dibs_batches WHERE seq = $1::bigint
      UNION ALL SELECT id, $2::int FROM {schema}.dibs_batches WHERE seq IS NULL AND stamp = $1::bigint - {unnumbered}) c
    CROSS JOIN LATERAL ({line}) l WHERE nullif(split_part(l.line, E'\t', 5), '')::uuid = $4::uuid),
  newest(batch, ord) AS (
    SELECT last_batch, last_ord FROM {schema}.dibs_name_rows
      WHERE id = $4::uuid AND ($1::bigint = 0 OR EXISTS (SELECT 1 FROM seen WHERE loose IS NOT NULL))
    UNION ALL SELECT prev_batch, prev_ord FROM seen WHERE loose IS NULL),
  chain AS (
    SELECT l.*, l.fits::int AS n FROM newest c CROSS JOIN LATERAL ({link}) l
    UNION ALL
    SELECT l.*, p.n + l.fits::int FROM chain p
      CROSS JOIN LATERAL (SELECT p.prev_batch AS batch, p.prev_ord AS ord) c CROSS JOIN LATERAL ({link}) l WHERE p.n < $3)
SELECT seq, ord, line FROM (
  SELECT * FROM chain
  UNION ALL
  SELECT l.*, 0 FROM (SELECT batch, ord FROM {schema}.dibs_events WHERE loose = $4::uuid) c CROSS JOIN LATERAL ({link}) l) e
WHERE fits ORDER BY seq DESC, ord DESC LIMIT $3

-- An event of a history, and whether it may be on the page.
-- name: link
SELECT {seq} AS seq, ({included} AND ($1::bigint = 0 OR ({seq}, e.ord) < ($1::bigint, $2::bigint))) AS fits, e.*
FROM ({line}) e JOIN {schema}.dibs_batches b ON b.id = e.batch

-- Sets up a new connection, as far as its server knows the settings:
-- what is acknowledged is on disk;
-- waits for locks are short, and a lost connection soon loses its own locks;
-- plans are made once, and stay right for tables that grow by a million rows.
-- name: settings
SELECT set_config(s.name, v.value, false) FROM (VALUES
  ('synchronous_commit', 'on'),
  ('lock_timeout', $1),
  ('statement_timeout', $2), ('idle_in_transaction_session_timeout', $2),
  ('plan_cache_mode', 'force_generic_plan'), ('jit', 'off'),
  ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off')
  ) AS v(name, value) JOIN pg_settings s ON s.name = v.name
WHERE s.name <> 'synchronous_commit' OR s.setting = 'off'

-- The same behind a pooler that assigns sessions to transactions. All servers behind one know these.
-- name: settings of a transaction
SELECT set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), true),
  set_config('lock_timeout', $1, true),
  set_config('statement_timeout', $2, true), set_config('idle_in_transaction_session_timeout', $2, true),
  set_config('jit', 'off', true),
  set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
  set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)

-- Whether commits wait for a synchronous standby: one is configured, and either a session of this
-- role waits, or no standby is connected. A role that may not see the state of standbys counts
-- every connected one as synchronous.
-- name: waits for standby
SELECT current_setting('synchronous_standby_names') <> '' AND (
  EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = current_user)
  OR NOT EXISTS (SELECT FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum')))
