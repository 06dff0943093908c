-- With what turning the outbox on has made, which would write into a table that is not there.
DROP TRIGGER IF EXISTS outbox_inserted;
DROP TRIGGER IF EXISTS outbox_changed;
DROP TABLE IF EXISTS outbox;
