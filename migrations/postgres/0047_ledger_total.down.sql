-- loses: nothing
ALTER TABLE skus DROP COLUMN moved_until, DROP COLUMN moved;
