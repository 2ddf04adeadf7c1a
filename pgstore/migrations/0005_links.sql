ALTER TABLE {schema}.dibs_names ADD COLUMN IF NOT EXISTS links bytea;

COMMENT ON COLUMN {schema}.dibs_names.links IS 'What ties the name to other records: for each, a letter and an id of 16 bytes. s: the document that it shares with its look-alikes; h: one that leads to it from a keyed hash; t: the row that has the name since the rules of its namespace changed; f: a row that had it before.';
