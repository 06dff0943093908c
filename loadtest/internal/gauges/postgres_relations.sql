-- How large the tables and indexes of a database are.
-- In: nothing. Out: the name, the table of an index and '' for a table, the bytes of a table without its indexes or of an index,
-- and the rows of a table that live and that are dead, as they are estimated.
SELECT c.relname,
       coalesce(t.relname, ''),
       coalesce(CASE WHEN t.oid IS NULL THEN pg_table_size(c.oid) ELSE pg_relation_size(c.oid) END, 0)::float8,
       coalesce(s.n_live_tup, 0)::float8,
       coalesce(s.n_dead_tup, 0)::float8
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_index i ON i.indexrelid = c.oid
  LEFT JOIN pg_class t ON t.oid = i.indrelid
  LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
 WHERE c.relkind IN ('r', 'i') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
 ORDER BY coalesce(t.relname, c.relname), t.relname NULLS FIRST, c.relname
