-- loses: nothing
ALTER TABLE skus DROP COLUMN moved_until;
ALTER TABLE skus DROP COLUMN moved;
