ALTER TABLE skus DROP COLUMN max_reserve_us;
