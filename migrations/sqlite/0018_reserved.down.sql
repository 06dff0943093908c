ALTER TABLE stock_segments DROP COLUMN reserved;
