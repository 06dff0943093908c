ALTER TABLE skus DROP COLUMN max_quantity;
ALTER TABLE skus DROP COLUMN per_buyer_limit;
ALTER TABLE skus DROP COLUMN sale_ends_at;
ALTER TABLE skus DROP COLUMN sale_starts_at;
ALTER TABLE skus DROP COLUMN layout;
