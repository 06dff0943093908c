-- loses: nothing
DROP INDEX skus_by_limit_group;
