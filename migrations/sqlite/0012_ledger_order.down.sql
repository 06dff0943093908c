DROP INDEX IF EXISTS movements_by_time;
