-- What a server has done, before its version 18.
-- In: nothing. Out: the end of the log in bytes, the next transaction id, the syncs of the log, the commits of this database,
-- the connections to it but for this one, and whether syncs are on. This session's own counts are flushed when it is over.
SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8,
       pg_snapshot_xmax(pg_current_snapshot())::text::float8,
       (SELECT wal_sync::float8 FROM pg_stat_wal),
       (SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()),
       (SELECT count(*)::float8
          FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND coalesce(backend_type, 'client backend') = 'client backend'),
       current_setting('fsync') = 'on',
       pg_stat_force_next_flush()::text
