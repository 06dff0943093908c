-- The rows of such orders stay: their ids sell nothing still, but are refused as those of other orders.
ALTER TABLE orders DROP COLUMN pruned;
