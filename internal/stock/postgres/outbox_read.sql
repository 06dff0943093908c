-- Read the changes of deductions after a cursor.
--
-- In:  $1 xid and $2 position of the cursor, $3 limit
-- Out: the changes in the order (xid, position)
--
-- Transactions get their number when they first write and commit in any order, so positions and times appear in any order
-- as well. But a snapshot knows a number, xmin, below which every transaction has ended: all their rows are there now, and
-- none will come. Only those are read. A cursor therefore never passes a row that is not there yet: what comes later
-- has a higher xid than anything read so far.
--
-- A transaction that began first may change an order last, after it has waited for another. Positions show which change is
-- later: they are given at the moment of the change.
--
-- The text must not be named xid: ORDER BY would mean the text, in which 1000 comes before 999.
SELECT xid::text AS xid_text, position, sku_id, order_id, coalesce(buyer_id, ''), quantity, status, at
FROM outbox
WHERE (xid, position) > ($1::text::xid8, $2::bigint)
  AND xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid, position
LIMIT $3
