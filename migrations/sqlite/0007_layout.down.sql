-- The step up gives every segment the first layout, so the SKU gets it too: otherwise no process could sell it.
UPDATE skus SET layout = 1 WHERE layout <> 1;
ALTER TABLE stock_segments DROP COLUMN layout;
