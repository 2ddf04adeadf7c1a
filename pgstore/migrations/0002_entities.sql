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
