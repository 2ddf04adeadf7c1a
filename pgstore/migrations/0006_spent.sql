ALTER TABLE {schema}.dibs_names ADD COLUMN IF NOT EXISTS spent bytea;

COMMENT ON COLUMN {schema}.dibs_names.spent IS 'The tokens of holds before the last one, up to 16 of 41 bytes each: the beginning of the token''s SHA-256 (16), what tells the principal (8), the epoch (8), how the hold ended (c, r or e), until when this is remembered (8, milliseconds).';
