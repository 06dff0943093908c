-- Whether all sessions have been idle for so long that what they counted has been told.
-- In: the seconds of silence that this takes. Out: true, or false. One that may not be looked at is not idle.
SELECT NOT EXISTS (
    SELECT
      FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND (coalesce(state, 'hidden') <> 'idle' OR state_change > clock_timestamp() - make_interval(secs => $1))),
       pg_stat_force_next_flush()::text
