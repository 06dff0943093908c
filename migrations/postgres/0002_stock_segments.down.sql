-- Refused while there is stock.
DO $$
BEGIN
    IF EXISTS (SELECT FROM stock_segments) THEN
        RAISE EXCEPTION 'there are segments, which no older schema can hold';
    END IF;
    DROP TABLE stock_segments;
END $$;
