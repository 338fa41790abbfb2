-- Takes back V3. What it counted is lost; the dead letters stay.

-- Rather fail and be started again than have every claim wait behind us for a lock.
SET LOCAL lock_timeout = '2s';

DROP TRIGGER dead_letters_added ON carillon.dead_letter;
DROP TRIGGER dead_letters_removed ON carillon.dead_letter;
DROP FUNCTION carillon.dead_letters_added();
DROP FUNCTION carillon.dead_letters_removed();
DROP TABLE carillon.dead_letter_group;

DROP INDEX carillon.dead_letter_kind;
DROP INDEX carillon.dead_letter_key;
DROP INDEX carillon.dead_letter_oldest;

ALTER TABLE carillon.dead_letter
    DROP COLUMN fingerprint,
    DROP COLUMN failure,
    DROP COLUMN status,
    DROP COLUMN key,
    DROP COLUMN kept_from;

DROP FUNCTION carillon.fingerprint(text, text, smallint, text);
