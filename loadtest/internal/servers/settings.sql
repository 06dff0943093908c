-- The version, and what makes commits durable. In: nothing. Out: the name and the value of each setting.
SELECT name, setting
  FROM pg_settings
 WHERE name IN ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes')
 ORDER BY name
