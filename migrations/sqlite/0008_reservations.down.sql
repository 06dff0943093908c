ALTER TABLE deductions DROP COLUMN expires_at;
ALTER TABLE deductions DROP COLUMN asked;
