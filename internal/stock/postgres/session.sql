-- Sets the parameters of a session, and returns each as it was and as it should be.
--
-- In:  @process that the client has been told of, @own whether the session is the client's own although a pooler answers for the
--      server, @parameters the values by their names, as JSON
--
-- Any other session may be somebody else's a moment later: there nothing is set for longer than this statement.
WITH session AS MATERIALIZED (SELECT pg_backend_pid() <> @process::bigint AS pooled)
SELECT pg_backend_pid(), getdatabaseencoding(), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    name, current_setting(name, true), set_config(name, value, pooled AND NOT @own::boolean)
FROM session, json_each_text(@parameters::json) AS wanted (name, value)
WHERE name <> 'transaction_timeout' OR current_setting(name, true) IS NOT NULL -- PostgreSQL 17 has it
