-- The rows of pruned orders stay: their ids still sell nothing, but are refused as ids of other orders.
ALTER TABLE orders DROP COLUMN IF EXISTS pruned;
