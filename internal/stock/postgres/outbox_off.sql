-- Turn the outbox off: nothing is left but the table.
LOCK TABLE deductions IN ACCESS EXCLUSIVE MODE;

DROP TRIGGER IF EXISTS outbox_inserted ON deductions;

DROP TRIGGER IF EXISTS outbox_changed ON deductions;

DROP FUNCTION IF EXISTS outbox_inserted, outbox_changed;
