-- How many units the change has written off; null: none.
ALTER TABLE outbox ADD COLUMN written_off INTEGER;
