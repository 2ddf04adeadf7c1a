-- What ties a name to other records: for each, a letter and an id of 16 bytes. 's' is
-- the document that it shares with its look-alikes, 'h' one that leads to it from a
-- keyed hash, 't' the row that has the name since the rules of its namespace changed,
-- 'f' a row that had it before.
ALTER TABLE dibs_names ADD COLUMN links BLOB CHECK (length(links) % 17 = 0);
