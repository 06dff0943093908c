-- adds: how far the earlier orders of a SKU are counted for its buyer limit
--
-- counting: they are being counted, or no longer to be; counted_until is the last order_id that is done. limit_since is when the last of them
-- was. A program of 0.1.0 counts them at once, when it sets the limit.
ALTER TABLE skus ADD COLUMN IF NOT EXISTS counting boolean;
ALTER TABLE skus ADD COLUMN IF NOT EXISTS counted_until text COLLATE "C";
ALTER TABLE skus ADD COLUMN IF NOT EXISTS limit_since timestamptz;
