-- The counting of earlier orders, once a SKU has got a buyer limit or another group, or lost it: a page of its deductions after the other, in the order of
-- their keys. A deduction that is marked as limited is counted.

-- name: begin_counting
-- In: $1 sku_id. From the beginning, also if it was under way.
UPDATE skus SET counting = true, counted_until = '', limit_since = NULL WHERE sku_id = $1;

-- name: being_counted
-- In:  $1 how many
-- Out: sku_ids
SELECT sku_id FROM skus WHERE counting ORDER BY sku_id LIMIT $1::bigint;

-- name: counting
-- In:  $1 sku_id, $2 a number that means nothing, but must be the same in all processes
-- Out: the order_id up to which they are counted, the limit per buyer (0: none), the limit_group ('': none),
--      whether nobody else counts; no row: all are counted
SELECT counted_until, coalesce(per_buyer_limit, 0), coalesce(limit_group, ''), pg_try_advisory_xact_lock($2::integer, hashtext($1))
FROM skus WHERE sku_id = $1 AND counting;

-- name: lock_miscounted
-- In:  $1 sku_id, $2 the order_id before the page, $3 its last order_id, $4 where they shall be counted ('': nowhere), $5 how many
-- Out: order_id, buyer_id, quantity, where it is counted, of those that are not so yet
--
-- A settlement that holds a deduction is waited for: it does not wait for buyers' rows of this transaction, which has none yet.
SELECT order_id, buyer_id, quantity, CASE WHEN limited THEN coalesce(counted_at, sku_id) ELSE '' END
FROM deductions
WHERE sku_id = $1 AND order_id > $2 AND order_id <= $3 AND buyer_id IS NOT NULL AND (status = 'reserved' OR status = 'committed')
  AND CASE WHEN limited THEN coalesce(counted_at, sku_id) ELSE '' END <> $4
ORDER BY order_id LIMIT $5::bigint FOR NO KEY UPDATE;

-- name: mark_counted
-- In: $1 sku_id, $2 order_ids, $3 where they are counted now ('': nowhere)
UPDATE deductions SET limited = CASE WHEN $3 <> '' THEN true END, counted_at = nullif(nullif($3, ''), $1) WHERE sku_id = $1 AND order_id = ANY ($2::text[]);

-- name: counted_until
-- In: $1 sku_id, $2 and $3 the order_ids before the page and at its end, $4 whether the SKU has a limit, $5 its limit_group
--
-- It changes no row if the terms have changed since: then the counting has begun anew. The commit does not wait for the disk, since others
-- may wait for it: if the page is lost, it is counted again.
UPDATE skus SET counted_until = $3
WHERE sku_id = $1 AND counting AND counted_until = $2 AND (per_buyer_limit IS NOT NULL) = $4::boolean AND coalesce(limit_group, '') = $5
  AND set_config('synchronous_commit', 'off', true) = 'off';

-- name: all_counted
-- In: $1 sku_id, $2 the order_id before the last page, $3 whether the SKU has a limit, $4 its limit_group
UPDATE skus SET counting = NULL, counted_until = NULL, limit_since = CASE WHEN $3::boolean THEN clock_timestamp() END
WHERE sku_id = $1 AND counting AND counted_until = $2 AND (per_buyer_limit IS NOT NULL) = $3 AND coalesce(limit_group, '') = $4;
