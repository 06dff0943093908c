-- adds: groups of SKUs over which a buyer limit counts
ALTER TABLE skus ADD COLUMN limit_group TEXT;
ALTER TABLE deductions ADD COLUMN counted_at TEXT;
