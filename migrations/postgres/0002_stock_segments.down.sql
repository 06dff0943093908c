DROP TABLE IF EXISTS stock_segments;
