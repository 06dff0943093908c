-- Refused while there are deductions: without them, retries of orders would sell again.
DO $$
BEGIN
    IF EXISTS (SELECT FROM deductions) THEN
        RAISE EXCEPTION 'there are deductions, which no older schema can hold';
    END IF;
    DROP TABLE deductions;
END $$;
