-- What deductions of archived SKUs were folded into: how many they were, the units that those of them hold that were committed,
-- and how many took from several segments. A row is made by the first of them.
CREATE TABLE IF NOT EXISTS pruned (
    sku_id     text COLLATE "C" PRIMARY KEY REFERENCES skus (sku_id),
    deductions bigint NOT NULL CHECK (deductions > 0),
    committed  bigint NOT NULL CHECK (committed >= 0),
    merges     bigint NOT NULL CHECK (merges >= 0)
);
