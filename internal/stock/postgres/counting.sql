-- The counting of earlier orders, once a SKU has got a buyer limit or another group, or lost it: a page of its deductions after the other,
-- in the order of their keys. A deduction that is marked as limited is counted.

-- name: begin_counting
-- In: @sku_id. From the beginning, also if it was under way.
UPDATE skus SET counting = true, counted_until = '', limit_since = NULL WHERE sku_id = @sku_id;

-- name: being_counted
-- In:  @limit how many SKUs
-- Out: sku_ids
SELECT sku_id FROM skus WHERE counting ORDER BY sku_id LIMIT @limit::bigint;

-- name: counting
-- In:  @sku_id, @lock_key a number that means nothing, but must be the same in all processes
-- Out: the order_id up to which they are counted, the limit per buyer (0: none), the limit_group ('': none),
--      whether nobody else counts; no row: all are counted
SELECT counted_until, coalesce(per_buyer_limit, 0), coalesce(limit_group, ''), pg_try_advisory_xact_lock(@lock_key::integer, hashtext(@sku_id))
FROM skus WHERE sku_id = @sku_id AND counting;

-- name: lock_miscounted
-- In:  @sku_id, @after the order_id before the page, @last its last order_id, @counted_at where they shall be counted ('': nowhere),
--      @limit how many
-- Out: order_id, buyer_id, quantity, where it is counted, of those that are not so yet
--
-- A settlement that holds a deduction is waited for: it does not wait for buyers' rows of this transaction, which has none yet.
SELECT order_id, buyer_id, quantity, CASE WHEN limited THEN coalesce(counted_at, sku_id) ELSE '' END
FROM deductions
WHERE sku_id = @sku_id AND order_id > @after AND order_id <= @last AND buyer_id IS NOT NULL AND (status = 'reserved' OR status = 'committed')
  AND CASE WHEN limited THEN coalesce(counted_at, sku_id) ELSE '' END <> @counted_at
ORDER BY order_id LIMIT @limit::bigint FOR NO KEY UPDATE;

-- name: mark_counted
-- In: @sku_id, @order_ids, @counted_at where they are counted now ('': nowhere)
UPDATE deductions SET limited = CASE WHEN @counted_at <> '' THEN true END, counted_at = nullif(nullif(@counted_at, ''), @sku_id)
WHERE sku_id = @sku_id AND order_id = ANY (@order_ids::text[]);

-- name: counted_until
-- In: @sku_id, @after and @last the order_ids before the page and at its end, @limited whether the SKU has a limit, @limit_group
--
-- It changes no row if the terms have changed since: then the counting has begun anew. The commit does not wait for the disk, since others
-- may wait for it: if the page is lost, it is counted again.
UPDATE skus SET counted_until = @last
WHERE sku_id = @sku_id AND counting AND counted_until = @after
  AND (per_buyer_limit IS NOT NULL) = @limited::boolean AND coalesce(limit_group, '') = @limit_group
  AND set_config('synchronous_commit', 'off', true) = 'off';

-- name: all_counted
-- In: @sku_id, @after the order_id before the last page, @limited whether the SKU has a limit, @limit_group
UPDATE skus SET counting = NULL, counted_until = NULL, limit_since = CASE WHEN @limited::boolean THEN clock_timestamp() END
WHERE sku_id = @sku_id AND counting AND counted_until = @after
  AND (per_buyer_limit IS NOT NULL) = @limited AND coalesce(limit_group, '') = @limit_group;
