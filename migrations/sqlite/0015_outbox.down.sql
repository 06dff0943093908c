-- The triggers are dropped as well: they would write into a table that does not exist.
DROP TRIGGER IF EXISTS outbox_inserted;
DROP TRIGGER IF EXISTS outbox_changed;
DROP TABLE IF EXISTS outbox;
