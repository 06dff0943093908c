-- Refused while there is stock.
CREATE TEMP TABLE undone (segments INTEGER CONSTRAINT "there are segments, which no older schema can hold" CHECK (segments = 0));
INSERT INTO undone SELECT count(*) FROM stock_segments;
DROP TABLE undone;
DROP TABLE stock_segments;
