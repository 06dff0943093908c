-- adds: groups of SKUs over which a buyer limit counts
--
-- counted_at is the count of a group ('#' and its name) in which a deduction is counted that is marked as limited; null: it is counted at its
-- SKU. Such a count has the place of a SKU in buyers. A program of 0.1.0 counts at the SKU.
ALTER TABLE skus ADD COLUMN IF NOT EXISTS limit_group text COLLATE "C";
ALTER TABLE deductions ADD COLUMN IF NOT EXISTS counted_at text COLLATE "C";
