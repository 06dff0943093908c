ALTER TABLE deductions DROP COLUMN committed;
ALTER TABLE deductions DROP COLUMN reserve_micros;
