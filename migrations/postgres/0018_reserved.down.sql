ALTER TABLE stock_segments DROP COLUMN IF EXISTS reserved;
