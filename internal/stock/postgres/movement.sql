-- The ledger, and what a movement does to the segments.

-- name: lock_sku
-- In: $1 sku_id
--
-- A movement is written under the lock of this row: so the movements of a SKU are written one after another, each with a later time. It is
-- locked after the rows of segments and deductions.
SELECT FROM skus WHERE sku_id = $1 FOR NO KEY UPDATE;

-- name: insert_movement
-- In: $1 sku_id, $2 ref, $3 kind, $4 quantity, $5 segments (0: none), $6 terms ({}: none), $7 reason, $8 the instant (null: now)
INSERT INTO movements (sku_id, ref, kind, quantity, segments, terms, reason, created_at)
SELECT $1, $2, $3, $4, nullif($5::integer, 0), nullif($6, '{}'), $7,
       coalesce((SELECT greatest(at, max(created_at) + interval '1 microsecond') FROM movements WHERE sku_id = $1), at)
FROM (SELECT coalesce($8::timestamptz, clock_timestamp()) AS at) AS decided
WHERE EXISTS (SELECT 1 FROM skus WHERE sku_id = $1)
ON CONFLICT (sku_id, ref) DO NOTHING;

-- name: add_up_ledger
-- In: $1 sku_id
--
-- Those that were added up stay so. Later ones are the one that was just written, and those of programs of 0.1.0.
UPDATE skus SET moved = moved + later.units, moved_until = later.until
FROM (
    SELECT sum(quantity) AS units, max(created_at) AS until FROM movements
    WHERE sku_id = $1 AND created_at > coalesce((SELECT moved_until FROM skus WHERE sku_id = $1), '-infinity')
) AS later
WHERE sku_id = $1 AND later.until IS NOT NULL;

-- name: movement
-- In:  $1 sku_id, $2 ref
-- Out: sku_id, ref, kind, quantity, segments, terms, reason, created_at
SELECT sku_id, ref, kind, quantity, coalesce(segments, 0), coalesce(terms, '{}'), reason, created_at
FROM movements WHERE sku_id = $1 AND ref = $2;

-- name: movements
-- In:  $1 sku_id, $2 and $3 the instant and the ref before the page, $4 its length
-- Out: as movement
SELECT sku_id, ref, kind, quantity, coalesce(segments, 0), coalesce(terms, '{}'), reason, created_at
FROM movements WHERE sku_id = $1 AND (created_at, ref) > ($2, $3)
ORDER BY created_at, ref LIMIT $4;

-- name: newest_movements
-- In:  $1 sku_id, $2 and $3 the instant and the ref behind the page, $4 its length
-- Out: as movement, the newest first
SELECT sku_id, ref, kind, quantity, coalesce(segments, 0), coalesce(terms, '{}'), reason, created_at
FROM movements WHERE sku_id = $1 AND (created_at, ref) < ($2, $3)
ORDER BY created_at DESC, ref DESC LIMIT $4;

-- name: lay_out
-- In: $1 sku_id; arrays by segment: $2 available, $3 reserved; $4 the fencing token of new rows, $5 version, $6 layout
--
-- Rows that stay keep their fences.
INSERT INTO stock_segments (sku_id, segment, available, reserved, fence, version, layout)
SELECT $1, n - 1, units, r, $4, $5, $6 FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS spread (units, r, n)
ORDER BY n
ON CONFLICT (sku_id, segment) DO UPDATE
    SET available = excluded.available, reserved = excluded.reserved, version = excluded.version, layout = excluded.layout;

-- name: delete_beyond
-- In: $1 sku_id, $2 how many segments stay
DELETE FROM stock_segments WHERE sku_id = $1 AND segment >= $2;

-- name: set_layout
-- In: $1 sku_id, $2 layout
UPDATE skus SET layout = $2 WHERE sku_id = $1;

-- name: stock_put
-- In:  $1 sku_id
-- Out: all that was ever put in, less what was taken out again; no row: there is no such SKU
SELECT k.initial + k.moved + coalesce((SELECT sum(m.quantity) FROM movements m
                                       WHERE m.sku_id = $1 AND m.created_at > coalesce(k.moved_until, '-infinity')), 0)::bigint
FROM skus k WHERE k.sku_id = $1;
