-- The statements whose texts do not depend on their rows, each under its name. {schema} is the
-- schema, {clock} the expression of the present time, and {names}, {entities}, {documents} and
-- {events} are the columns of n, e, d and e.

-- name: now
SELECT {clock}

-- Records of all kinds by one statement, which sees one moment. Each row of the result has a
-- name, an entity and a document that are unrelated.
-- name: load
SELECT c.now, {names}, {entities}, {documents}
FROM (SELECT {clock} AS now) c
LEFT JOIN unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[]) AS r(name, entity, kind, document) ON true
LEFT JOIN {schema}.dibs_names n ON n.id = r.name
LEFT JOIN {schema}.dibs_entities e ON e.id = r.entity
LEFT JOIN {schema}.dibs_documents d ON d.kind = r.kind AND d.id = r.document

-- Compares the number of rows with the number of those that could be locked.
-- name: await
WITH n AS MATERIALIZED (SELECT 1 FROM {schema}.dibs_names t WHERE t.id = ANY ($1::uuid[]) FOR SHARE OF t SKIP LOCKED),
  e AS MATERIALIZED (SELECT 1 FROM {schema}.dibs_entities t WHERE t.id = ANY ($2::uuid[]) FOR SHARE OF t SKIP LOCKED),
  d AS MATERIALIZED (SELECT 1 FROM {schema}.dibs_documents t
    WHERE (t.kind, t.id) IN (SELECT * FROM unnest($3::text[], $4::uuid[])) FOR SHARE OF t SKIP LOCKED)
SELECT (SELECT count(*) FROM n) + (SELECT count(*) FROM e) + (SELECT count(*) FROM d) =
  (SELECT count(*) FROM {schema}.dibs_names t WHERE t.id = ANY ($1::uuid[])) +
  (SELECT count(*) FROM {schema}.dibs_entities t WHERE t.id = ANY ($2::uuid[])) +
  (SELECT count(*) FROM {schema}.dibs_documents t WHERE (t.kind, t.id) IN (SELECT * FROM unnest($3::text[], $4::uuid[])))
  AND {clock} >= $5::bigint

-- name: due
WITH c AS MATERIALIZED (SELECT {clock} AS now)
SELECT kind, scope, id FROM (
  (SELECT due, 'name' AS kind, namespace AS scope, id FROM {schema}.dibs_names
    WHERE due <= (SELECT now FROM c) ORDER BY due LIMIT $1)
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
  SELECT * FROM {schema}.dibs_names WHERE owner = $1::uuid AND state = 'active' AND NOT many
  UNION ALL
  SELECT * FROM {schema}.dibs_names WHERE owner = $1::uuid AND (state = 'alias' OR (state = 'active' AND many))) n
ORDER BY n.namespace, n.canonical LIMIT $2

-- Listings have further clauses.
-- name: list names
SELECT {names} FROM {schema}.dibs_names n

-- name: list documents
SELECT {documents} FROM {schema}.dibs_documents d

-- name: count
SELECT namespace, state, count(*) FROM {schema}.dibs_names WHERE state <> 'free' GROUP BY 1, 2

-- name: count ending
SELECT count(*) FROM {schema}.dibs_names WHERE due <= $1::bigint AND state = 'held'

-- Names that stop being an entity's active one.
-- name: deactivate
UPDATE {schema}.dibs_names SET state = 'alias' WHERE id = ANY ($1::uuid[]) AND state = 'active'

-- Also checks the window.
-- name: insert batch
WITH b AS (INSERT INTO {schema}.dibs_batches (id, stamp, live) VALUES ($1::uuid, $2::bigint, $3::bigint))
SELECT {window} FROM (SELECT {clock} AS now) c

-- The outcome of a batch: its live events, or -1 from now on.
-- name: outcome
INSERT INTO {schema}.dibs_batches AS b (id, stamp, live) VALUES ($1::uuid, $2::bigint, -1)
ON CONFLICT (id) DO UPDATE SET live = b.live RETURNING live

-- The new names that a batch has inserted, which are those with events, and no time.
-- name: names in batch
SELECT array_agg(DISTINCT name), 0::bigint FROM {schema}.dibs_events WHERE batch = $1::uuid AND name IS NOT NULL

-- Removes the events of names. Batches without a number are not updated: their locks would delay
-- the numbering.
-- name: delete history
WITH RECURSIVE chain(batch, ord) AS (
    SELECT last_batch, last_ord FROM {schema}.dibs_names WHERE id = ANY ($1::uuid[]) AND last_batch IS NOT NULL
    UNION ALL
    SELECT e.prev_batch, e.prev_ord FROM chain c JOIN {schema}.dibs_events e ON e.batch = c.batch AND e.ord = c.ord
      WHERE e.prev_batch IS NOT NULL),
  history(batch, ord) AS (
    SELECT batch, ord FROM chain UNION ALL SELECT batch, ord FROM {schema}.dibs_events WHERE name = ANY ($1::uuid[]) AND loose),
  gone AS (DELETE FROM {schema}.dibs_events e USING history h WHERE e.batch = h.batch AND e.ord = h.ord RETURNING e.batch)
UPDATE {schema}.dibs_batches b SET live = b.live - g.n
FROM (SELECT batch, count(*) AS n FROM gone GROUP BY batch) g WHERE b.id = g.batch AND b.seq IS NOT NULL

-- Replaces the bodies of events: by the number of the batch; or, in the transaction that wrote
-- the event, by its stamp.
-- name: redact
UPDATE {schema}.dibs_events e SET body = r.body
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS r(seq, ord, body)
CROSS JOIN LATERAL (SELECT id FROM {schema}.dibs_batches WHERE seq = r.seq
  UNION ALL SELECT id FROM {schema}.dibs_batches WHERE seq IS NULL AND stamp = r.seq - {unnumbered}) b
WHERE e.batch = b.id AND e.ord = r.ord

-- Whether there are batches to number, and the last number.
-- name: head
SELECT EXISTS (SELECT 1 FROM {schema}.dibs_batches WHERE seq IS NULL), (SELECT seq FROM {schema}.dibs_head)

-- name: lock head
SELECT seq FROM {schema}.dibs_head FOR UPDATE

-- A batch that rests on another has the higher stamp, and is never visible without it. So the
-- order of stamps puts it behind.
-- name: number
WITH p AS MATERIALIZED (SELECT id, row_number() OVER (ORDER BY stamp, id) AS n
    FROM (SELECT id, stamp FROM {schema}.dibs_batches WHERE seq IS NULL ORDER BY stamp, id LIMIT $1) q),
  u AS (UPDATE {schema}.dibs_batches b SET seq = h.seq + p.n FROM p, {schema}.dibs_head h WHERE b.id = p.id),
  h AS (UPDATE {schema}.dibs_head SET seq = seq + (SELECT count(*) FROM p) WHERE EXISTS (SELECT 1 FROM p))
SELECT count(*) FROM p

-- Removes batches that have no events left.
-- name: purge
DELETE FROM {schema}.dibs_batches WHERE id IN (
  SELECT id FROM {schema}.dibs_batches WHERE live <= 0 AND seq IS NOT NULL AND stamp < $1 ORDER BY stamp LIMIT $2)

-- name: notify
SELECT pg_notify($1, '')

-- A page of the feed, of the batches that are {included} and whose place is {seq}. It looks up the
-- events of each batch, never the other way round, so that the cost of a page does not grow with
-- the feed.
-- name: page
SELECT {seq}, {events} FROM {schema}.dibs_batches b
CROSS JOIN LATERAL (SELECT * FROM {schema}.dibs_events e
  WHERE e.batch = b.id AND ({seq} > $1::bigint OR e.ord > $2::bigint) ORDER BY e.ord) e
WHERE {included} AND {seq} >= $1::bigint ORDER BY {seq}, e.ord LIMIT $3

-- The newest events of a name: the chain from its row, or from the event before the cursor, and
-- the events in no chain. It follows no more links than the page has room for, so the cost of a
-- page does not grow with the history. LATERAL makes it look up each link by its key, whatever
-- the planner expects of a chain.
-- name: history
WITH RECURSIVE seen AS (
    SELECT e.* FROM (SELECT id FROM {schema}.dibs_batches WHERE seq = $1::bigint
      UNION ALL SELECT id FROM {schema}.dibs_batches WHERE seq IS NULL AND stamp = $1::bigint - {unnumbered}) b
    CROSS JOIN LATERAL (SELECT prev_batch, prev_ord, loose FROM {schema}.dibs_events
      WHERE batch = b.id AND ord = $2::bigint AND name = $4::uuid) e),
  newest(batch, ord) AS (
    SELECT last_batch, last_ord FROM {schema}.dibs_names
      WHERE id = $4::uuid AND ($1::bigint = 0 OR EXISTS (SELECT 1 FROM seen WHERE loose))
    UNION ALL SELECT prev_batch, prev_ord FROM seen WHERE NOT loose),
  chain AS (
    SELECT l.*, l.fits::int AS n FROM newest c CROSS JOIN LATERAL ({link} WHERE e.batch = c.batch AND e.ord = c.ord) l
    UNION ALL
    SELECT l.*, c.n + l.fits::int FROM chain c
      CROSS JOIN LATERAL ({link} WHERE e.batch = c.prev_batch AND e.ord = c.prev_ord) l WHERE c.n < $3)
SELECT seq, {events} FROM (
  SELECT * FROM chain
  UNION ALL
  SELECT l.*, 0 FROM ({link} WHERE e.name = $4::uuid AND e.loose) l) e
WHERE fits ORDER BY seq DESC, ord DESC LIMIT $3

-- An event of a history, and whether it may be on the page.
-- name: link
SELECT {seq} AS seq, ({included} AND ($1::bigint = 0 OR ({seq}, e.ord) < ($1::bigint, $2::bigint))) AS fits, e.*
FROM {schema}.dibs_events e JOIN {schema}.dibs_batches b ON b.id = e.batch

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
  ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off')
  ) AS v(name, value) JOIN pg_settings s ON s.name = v.name
WHERE s.name <> 'synchronous_commit' OR s.setting = 'off'

-- Whether commits wait for a synchronous standby: one is configured, and either a session of this
-- role waits, or no standby is connected. A role that may not see the state of standbys counts
-- every connected one as synchronous.
-- name: waits for standby
SELECT current_setting('synchronous_standby_names') <> '' AND (
  EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = current_user)
  OR NOT EXISTS (SELECT FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', 'quorum')))
