-- The outbox: triggers that record what a statement has done to deductions, by one more statement.
--
-- The lock waits for the transactions that write deductions now, and later ones wait for this one: whatever is written
-- after the commit is recorded. Triggers with transition tables cost something even while they are disabled, so they are
-- created when the outbox is turned on, and dropped when it is turned off.

-- name: outbox_is_there
SELECT FROM outbox LIMIT 0;

-- name: outbox_status
-- In:  @limit how many rows are counted
-- Out: whether it is on, how many rows it has, whether that is an estimate, the times of the first and the last one (null: there is none)
SELECT (SELECT count(*) = 2 FROM pg_trigger WHERE tgrelid = 'deductions'::regclass
            AND tgname IN ('outbox_inserted', 'outbox_changed') AND tgenabled <> 'D'),
       CASE WHEN n > @limit THEN greatest(n, (SELECT reltuples::bigint FROM pg_class WHERE oid = 'outbox'::regclass)) ELSE n END,
       n > @limit,
       (SELECT at FROM outbox ORDER BY xid, position LIMIT 1), (SELECT at FROM outbox ORDER BY xid DESC, position DESC LIMIT 1)
FROM (SELECT count(*) AS n FROM (SELECT FROM outbox LIMIT @limit::bigint + 1) AS counted) AS some_rows;

-- name: outbox_limit_wait
-- How long a change waits for writers to end, while others wait behind it.
SET LOCAL lock_timeout = '500ms';

-- name: outbox_lock_on :patient
LOCK TABLE deductions IN SHARE ROW EXCLUSIVE MODE;

-- name: outbox_on_insert :patient
CREATE OR REPLACE FUNCTION outbox_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO outbox (sku_id, order_id, buyer_id, quantity, status, at)
    SELECT sku_id, order_id, buyer_id, quantity, status, now() FROM inserted ORDER BY sku_id, order_id;
    RETURN NULL;
END $$;

-- name: outbox_on_change :patient
--
-- An order that changes hands gets a revision. A buyer who is only forgotten is not told.
CREATE OR REPLACE FUNCTION outbox_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO outbox (sku_id, order_id, buyer_id, quantity, status, at, written_off)
    SELECT sku_id, order_id, c.buyer_id, c.quantity, c.status, now(),
           nullif(coalesce(c.written_off, 0) - coalesce(b.written_off, 0), 0)
    FROM changed c JOIN before b USING (sku_id, order_id)
    WHERE (c.status, c.quantity) IS DISTINCT FROM (b.status, b.quantity)
       OR c.revision IS DISTINCT FROM b.revision AND c.buyer_id IS DISTINCT FROM b.buyer_id
    ORDER BY sku_id, order_id;
    RETURN NULL;
END $$;

-- name: outbox_watch_inserts :patient
CREATE OR REPLACE TRIGGER outbox_inserted AFTER INSERT ON deductions
    REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION outbox_inserted();

-- name: outbox_watch_changes :patient
CREATE OR REPLACE TRIGGER outbox_changed AFTER UPDATE ON deductions
    REFERENCING OLD TABLE AS before NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION outbox_changed();

-- name: outbox_lock_off :patient
LOCK TABLE deductions IN ACCESS EXCLUSIVE MODE;

-- name: outbox_ignore_inserts :patient
DROP TRIGGER IF EXISTS outbox_inserted ON deductions;

-- name: outbox_ignore_changes :patient
DROP TRIGGER IF EXISTS outbox_changed ON deductions;

-- name: outbox_forget :patient
DROP FUNCTION IF EXISTS outbox_inserted, outbox_changed;

-- name: outbox_read
-- The changes of deductions after a cursor.
--
-- In:  @cursor, @limit
-- Out: cursor, position, sku_id, order_id, buyer_id ('': none), quantity, status, at, units written off; in the order (xid, position)
--
-- Transactions get their number when they first write and commit in any order, so positions and times appear in any order
-- as well. But a snapshot knows a number, xmin, below which every transaction has ended: all their rows are there now, and
-- none will come. Only those are read. A cursor therefore never passes a row that is not there yet: what comes later
-- has a higher xid than anything read so far.
--
-- A transaction that began first may change an order last, after it has waited for another. Positions show which change is
-- later: they are given at the moment of the change.
SELECT xid::text || '.' || position, position, sku_id, order_id, coalesce(buyer_id, ''), quantity, status, at, coalesce(written_off, 0)
FROM outbox
WHERE (xid, position) > (split_part(@cursor, '.', 1)::xid8, split_part(@cursor, '.', 2)::bigint)
  AND xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid, position
LIMIT @limit
;

-- name: outbox_was_given
-- In:  @cursor
-- Out: whether a read may have returned it
SELECT split_part(@cursor, '.', 1)::xid8 < pg_snapshot_xmin(pg_current_snapshot());

-- name: outbox_trim :patient
-- In: @cursor of the last change to remove, @limit
DELETE FROM outbox WHERE (xid, position) IN (
    SELECT xid, position FROM outbox
    WHERE (xid, position) <= (split_part(@cursor, '.', 1)::xid8, split_part(@cursor, '.', 2)::bigint)
    ORDER BY xid, position LIMIT @limit);
