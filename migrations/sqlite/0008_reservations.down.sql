-- Reservations become committed: nothing would end them, and buyers who pay keep what they reserved.
UPDATE deductions SET status = 'committed' WHERE status = 'reserved';
ALTER TABLE deductions DROP COLUMN expires_at;
ALTER TABLE deductions DROP COLUMN asked;
