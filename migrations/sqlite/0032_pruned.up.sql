-- The sums into which deductions of archived SKUs were folded: how many there were, the units of the committed ones, and how
-- many took from several segments. The first one of a SKU creates the row.
CREATE TABLE IF NOT EXISTS pruned (
    sku_id     TEXT    NOT NULL PRIMARY KEY REFERENCES skus (sku_id),
    deductions INTEGER NOT NULL CHECK (deductions > 0),
    committed  INTEGER NOT NULL CHECK (committed >= 0),
    merges     INTEGER NOT NULL CHECK (merges >= 0)
) STRICT, WITHOUT ROWID;
