-- loses: how far earlier orders are counted for new buyer limits; such a limit counts later orders only
ALTER TABLE skus DROP COLUMN limit_since;
ALTER TABLE skus DROP COLUMN counted_until;
ALTER TABLE skus DROP COLUMN counting;
