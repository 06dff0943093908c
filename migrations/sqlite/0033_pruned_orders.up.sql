-- Whether lines of an order of several SKUs were pruned, or may be at any time. Its row stays, so that its id sells nothing again.
ALTER TABLE orders ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0;
