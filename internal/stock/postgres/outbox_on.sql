-- Turn the outbox on: triggers that record what a statement has done to deductions, by one more statement.
--
-- The lock waits for the transactions that write deductions now, and later ones wait for this one: whatever is written
-- after the commit is recorded. Triggers with transition tables cost something even while they are disabled, so they are
-- created here and dropped when the outbox is turned off.
LOCK TABLE deductions IN SHARE ROW EXCLUSIVE MODE;

CREATE OR REPLACE FUNCTION outbox_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO outbox (sku_id, order_id, buyer_id, quantity, status, at)
    SELECT sku_id, order_id, buyer_id, quantity, status, now() FROM inserted ORDER BY sku_id, order_id;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION outbox_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO outbox (sku_id, order_id, buyer_id, quantity, status, at)
    SELECT sku_id, order_id, c.buyer_id, c.quantity, c.status, now()
    FROM changed c JOIN before b USING (sku_id, order_id)
    WHERE (c.status, c.quantity) IS DISTINCT FROM (b.status, b.quantity)
    ORDER BY sku_id, order_id;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER outbox_inserted AFTER INSERT ON deductions
    REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION outbox_inserted();

CREATE OR REPLACE TRIGGER outbox_changed AFTER UPDATE ON deductions
    REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION outbox_changed();
