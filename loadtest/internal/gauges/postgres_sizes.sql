-- How large a database is.
-- In: nothing. Out: the bytes of its tables without their indexes, and those of its indexes.
SELECT coalesce(sum(pg_table_size(oid)) FILTER (WHERE relkind = 'r'), 0)::float8,
       coalesce(sum(pg_relation_size(oid)) FILTER (WHERE relkind = 'i'), 0)::float8
  FROM pg_class
 WHERE relkind IN ('r', 'i')
   AND relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname IN ('pg_catalog', 'information_schema', 'pg_toast'))
