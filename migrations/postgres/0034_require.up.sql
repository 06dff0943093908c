-- What undoes a statement that has decided wrongly: it returns units if a condition holds, and raises IN002 otherwise. So a statement
-- that is a transaction by itself can look at the clock, or at what it has read, when all else is done, and then write nothing.
CREATE OR REPLACE FUNCTION inventory_require(holds boolean, units bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF holds IS NOT TRUE THEN
        RAISE EXCEPTION 'it is too late, or another transaction was faster: nothing is written' USING ERRCODE = 'IN002';
    END IF;
    RETURN units;
END $$
