-- The tokens of holds before the last one, up to 16, so that a late duplicate takes nothing. For
-- each the beginning of the token's SHA-256 (16 bytes), what tells the principal (8), the
-- epoch (8), how the hold ended ('c'onfirmed, 'r'eleased, 'e'xpired), and until when this is
-- remembered (8, milliseconds).
ALTER TABLE dibs_names ADD COLUMN spent BLOB CHECK (length(spent) % 41 = 0);
