-- The ledger, and what a movement does to the segments.

-- name: lock_sku
-- In: @sku_id. There is one writer: it has nothing to lock.
SELECT 1 FROM skus WHERE sku_id = @sku_id;

-- name: insert_movement
-- In: @sku_id, @ref, @kind, @quantity, @segments (0: none), @terms ({}: none), @reason, @at the instant
--
-- The movements of a SKU are written one after another, each with a later time.
INSERT INTO movements (sku_id, ref, kind, quantity, segments, terms, reason, created_at)
SELECT @sku_id, @ref, @kind, @quantity, nullif(@segments, 0), nullif(@terms, '{}'), @reason,
       coalesce((SELECT max(at, max(created_at) + 1) FROM movements WHERE sku_id = @sku_id), at)
FROM (SELECT @at AS at) AS decided
WHERE EXISTS (SELECT 1 FROM skus WHERE sku_id = @sku_id)
ON CONFLICT (sku_id, ref) DO NOTHING;

-- name: add_up_ledger
-- In: @sku_id
--
-- Those that were added up stay so. Later ones are the one that was just written, and those of programs of 0.1.0.
UPDATE skus SET moved = moved + later.units, moved_until = later.until
FROM (
    SELECT sum(quantity) AS units, max(created_at) AS until FROM movements
    WHERE sku_id = @sku_id AND created_at > coalesce((SELECT moved_until FROM skus WHERE sku_id = @sku_id), 0)
) AS later
WHERE sku_id = @sku_id AND later.until IS NOT NULL;

-- name: movement
-- In:  @sku_id, @ref
-- Out: sku_id, ref, kind, quantity, segments, terms, reason, created_at
SELECT sku_id, ref, kind, quantity, coalesce(segments, 0), coalesce(terms, '{}'), reason, created_at
FROM movements WHERE sku_id = @sku_id AND ref = @ref;

-- name: movements
-- In:  @sku_id, @after and @after_ref the instant and the ref before the page, @limit its length
-- Out: as movement
SELECT sku_id, ref, kind, quantity, coalesce(segments, 0), coalesce(terms, '{}'), reason, created_at
FROM movements WHERE sku_id = @sku_id AND (created_at, ref) > (@after, @after_ref)
ORDER BY created_at, ref LIMIT @limit;

-- name: newest_movements
-- In:  @sku_id, @before and @before_ref the instant and the ref behind the page, @limit its length
-- Out: as movement, the newest first
SELECT sku_id, ref, kind, quantity, coalesce(segments, 0), coalesce(terms, '{}'), reason, created_at
FROM movements WHERE sku_id = @sku_id AND (created_at, ref) < (@before, @before_ref)
ORDER BY created_at DESC, ref DESC LIMIT @limit;

-- name: lay_out
-- In: @sku_id; arrays by segment: @available, @reserved; @fence the fencing token of new rows, @version, @layout
--
-- Rows that stay keep their fences.
INSERT INTO stock_segments (sku_id, segment, available, reserved, fence, version, layout)
SELECT @sku_id, n, units, r, @fence, @version, @layout
FROM (SELECT value AS units, @reserved ->> key AS r, key AS n FROM json_each(@available) LIMIT -1) AS spread
ORDER BY n
ON CONFLICT (sku_id, segment) DO UPDATE
    SET available = excluded.available, reserved = excluded.reserved, version = excluded.version, layout = excluded.layout;

-- name: delete_beyond
-- In: @sku_id, @count how many segments stay
DELETE FROM stock_segments WHERE sku_id = @sku_id AND segment >= @count;

-- name: set_layout
-- In: @sku_id, @layout
UPDATE skus SET layout = @layout WHERE sku_id = @sku_id;

-- name: stock_put
-- In:  @sku_id
-- Out: all that was ever put in, less what was taken out again; no row: there is no such SKU
SELECT k.initial + k.moved + coalesce((SELECT sum(m.quantity) FROM movements m
                                       WHERE m.sku_id = @sku_id AND m.created_at > coalesce(k.moved_until, 0)), 0)
FROM skus k WHERE k.sku_id = @sku_id;
