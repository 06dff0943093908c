-- Turn the outbox off: nothing is left but the table.
DROP TRIGGER IF EXISTS outbox_inserted;

DROP TRIGGER IF EXISTS outbox_changed;
