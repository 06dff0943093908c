-- How many units the change has written off; null: none.
ALTER TABLE outbox ADD COLUMN IF NOT EXISTS written_off integer;
