-- The work that a PostgreSQL before version 18 has done, and the size of a database.
-- In: nothing. Out: the end of the log in bytes, the next transaction id, the syncs of the log if there are any, whether there are
-- none, the bytes of this database's tables without their indexes, and those of its indexes.
SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 AS wal_bytes,
       pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS writes,
       CASE WHEN current_setting('fsync') = 'on' THEN (SELECT wal_sync::float8 FROM pg_stat_wal) END AS wal_syncs,
       (current_setting('fsync') = 'off')::int::float8 AS no_fsync,
       coalesce(sum(pg_table_size(oid)) FILTER (WHERE relkind = 'r'), 0)::float8 AS table_bytes,
       coalesce(sum(pg_relation_size(oid)) FILTER (WHERE relkind = 'i'), 0)::float8 AS index_bytes
  FROM pg_class
 WHERE relkind IN ('r', 'i')
   AND relnamespace NOT IN (SELECT oid FROM pg_namespace WHERE nspname IN ('pg_catalog', 'information_schema', 'pg_toast'))
