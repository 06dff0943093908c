-- base: removes all tables, which must be empty of SKUs.
CREATE TEMP TABLE undone (skus INTEGER CONSTRAINT "there are SKUs, which would be lost" CHECK (skus = 0));
INSERT INTO undone SELECT count(*) FROM skus;
DROP TABLE undone;
DROP TABLE outbox;
DROP TABLE order_lines;
DROP TABLE orders;
DROP TABLE pruned;
DROP TABLE buyers;
DROP TABLE movements;
DROP TABLE amendments;
DROP TABLE deduction_parts;
DROP TABLE deductions;
DROP TABLE stock_segments;
DROP TABLE skus;
