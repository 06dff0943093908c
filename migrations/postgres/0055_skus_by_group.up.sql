-- indexes: the SKUs of a limit group
CREATE INDEX CONCURRENTLY skus_by_limit_group ON skus (limit_group) WHERE limit_group IS NOT NULL;
