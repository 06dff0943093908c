-- The outbox: triggers that record what is done to deductions. When it is turned off, nothing is left but the table.

-- name: outbox_is_there
SELECT 1 FROM outbox LIMIT 0;

-- name: outbox_status
-- In:  @limit how many rows are counted
-- Out: whether it is on, how many rows it has, whether that is an estimate, the times of the first and the last one (null: there is none)
SELECT (SELECT count(*) = 2 FROM sqlite_schema WHERE type = 'trigger' AND name IN ('outbox_inserted', 'outbox_changed')),
       CASE WHEN n > @limit THEN (SELECT max(position) FROM outbox) - (SELECT min(position) FROM outbox) + 1 ELSE n END,
       n > @limit,
       (SELECT at FROM outbox ORDER BY position LIMIT 1), (SELECT at FROM outbox ORDER BY position DESC LIMIT 1)
FROM (SELECT count(*) AS n FROM (SELECT 1 FROM outbox LIMIT @limit + 1));

-- name: outbox_watch_inserts
CREATE TRIGGER IF NOT EXISTS outbox_inserted AFTER INSERT ON deductions
BEGIN
    INSERT INTO outbox (sku_id, order_id, buyer_id, quantity, status, at)
    VALUES (NEW.sku_id, NEW.order_id, NEW.buyer_id, NEW.quantity, NEW.status, CAST(unixepoch('subsec') * 1000000 AS INTEGER));
END;

-- name: outbox_watch_changes
CREATE TRIGGER IF NOT EXISTS outbox_changed AFTER UPDATE ON deductions
WHEN NEW.status <> OLD.status OR NEW.quantity <> OLD.quantity OR NEW.revision IS NOT OLD.revision AND NEW.buyer_id IS NOT OLD.buyer_id
BEGIN
    INSERT INTO outbox (sku_id, order_id, buyer_id, quantity, status, at, written_off)
    VALUES (NEW.sku_id, NEW.order_id, NEW.buyer_id, NEW.quantity, NEW.status, CAST(unixepoch('subsec') * 1000000 AS INTEGER),
            nullif(coalesce(NEW.written_off, 0) - coalesce(OLD.written_off, 0), 0));
END;

-- name: outbox_ignore_inserts
DROP TRIGGER IF EXISTS outbox_inserted;

-- name: outbox_ignore_changes
DROP TRIGGER IF EXISTS outbox_changed;

-- name: outbox_read
-- In:  @cursor of the last change before the page, @limit
-- Out: cursor, position, sku_id, order_id, buyer_id ('': none), quantity, status, at, units written off
SELECT CAST(position AS TEXT), position, sku_id, order_id, coalesce(buyer_id, ''), quantity, status, at, coalesce(written_off, 0)
FROM outbox WHERE position > CAST(@cursor AS INTEGER) ORDER BY position LIMIT @limit;

-- name: outbox_was_given
-- In:  @cursor
-- Out: whether it is not above the highest position that was ever given. The outbox alone has such numbers.
SELECT CAST(@cursor AS INTEGER) <= coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0);

-- name: outbox_trim
-- In: @cursor of the last change to remove, @limit
DELETE FROM outbox WHERE position IN (SELECT position FROM outbox WHERE position <= CAST(@cursor AS INTEGER)
                                         ORDER BY position LIMIT @limit);
