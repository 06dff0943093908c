ALTER TABLE skus DROP COLUMN archived_at;
