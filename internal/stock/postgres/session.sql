-- Sets the parameters of a session, and returns each as it was and as it should be.
--
-- $1 is the process that the client has been told of. $2 says that the session is the client's own although a pooler answers
-- for the server. Any other session may be somebody else's a moment later: there nothing is set for longer than this statement.
-- $3 has the values by their names, as JSON.
WITH session AS MATERIALIZED (SELECT pg_backend_pid() <> $1::bigint AS pooled)
SELECT pg_backend_pid(), getdatabaseencoding(), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    name, current_setting(name, true), set_config(name, value, pooled AND NOT $2::boolean)
FROM session, json_each_text($3::json) AS wanted (name, value)
WHERE name <> 'transaction_timeout' OR current_setting(name, true) IS NOT NULL -- PostgreSQL 17 has it
