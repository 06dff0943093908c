-- The units that reservations took from a segment and have not given back. Only the sum over a SKU's segments means
-- something: a resegment moves them between segments.
ALTER TABLE stock_segments ADD COLUMN IF NOT EXISTS reserved bigint NOT NULL DEFAULT 0;
