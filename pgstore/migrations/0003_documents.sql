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
