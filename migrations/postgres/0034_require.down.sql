DROP FUNCTION IF EXISTS inventory_require(boolean, bigint);
